import { bigIntToBytes, type Hex } from "@gas-waiver/protocol";
import type { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT } from "../state/reader.js";

/**
 * A change to the state that no transaction makes, such as anvil_setBalance. It happens between two blocks, and the
 * state root of the later block commits to it. Addresses and slots are lower-case hex.
 */
export type StatePatch =
  | { readonly kind: "setBalance"; readonly address: Hex; readonly balance: bigint }
  | { readonly kind: "addBalance"; readonly address: Hex; readonly wei: bigint }
  | { readonly kind: "setNonce"; readonly address: Hex; readonly nonce: bigint }
  | { readonly kind: "setCode"; readonly address: Hex; readonly code: Uint8Array }
  | { readonly kind: "setSlot"; readonly address: Hex; readonly slot: Hex; readonly value: Uint8Array }
  | { readonly kind: "loadAccounts"; readonly accounts: readonly LoadedAccount[] };

/** An account that replaces the one at its address, if there is one. */
export interface LoadedAccount {
  readonly address: Hex;
  readonly nonce: bigint;
  readonly balance: bigint;
  readonly code: Uint8Array;
  readonly slots: ReadonlyMap<Hex, bigint>;
}

const MAX_BALANCE = 2n ** 256n - 1n;

/** Writes the patch into an overlay over the latest state. */
export function applyPatch(patch: StatePatch, state: Overlay): void {
  if (patch.kind === "loadAccounts") {
    for (const account of patch.accounts) loadAccount(account, state);
    return;
  }
  const { address } = patch;
  const record = state.account(address) ?? EMPTY_ACCOUNT;
  if (patch.kind === "setBalance") state.setAccount(address, { ...record, balance: patch.balance });
  else if (patch.kind === "addBalance") {
    const balance = record.balance + patch.wei;
    state.setAccount(address, { ...record, balance: balance > MAX_BALANCE ? MAX_BALANCE : balance });
  } else if (patch.kind === "setNonce") state.setAccount(address, { ...record, nonce: patch.nonce });
  else if (patch.kind === "setCode") state.setCode(address, patch.code);
  else {
    // A state root commits to storage through its account, so there has to be one.
    if (state.account(address) === undefined) state.setAccount(address, record);
    state.setSlot(address, patch.slot, patch.value);
  }
}

function loadAccount({ address, nonce, balance, code, slots }: LoadedAccount, state: Overlay): void {
  state.setAccount(address, { ...EMPTY_ACCOUNT, nonce, balance });
  state.setCode(address, code);
  state.wipeSlots(address);
  for (const [slot, value] of slots) state.setSlot(address, slot, bigIntToBytes(value));
}
