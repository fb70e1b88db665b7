import type { Hex } from "@gas-waiver/protocol";
import type { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT } from "../state/reader.js";

/**
 * A change to the state that no transaction makes. It happens between two blocks, and the later one's root
 * commits to it. Addresses and slots are lower-case hex.
 */
export type StateStep =
  | { readonly kind: "setBalance"; readonly address: Hex; readonly balance: bigint }
  | { readonly kind: "setNonce"; readonly address: Hex; readonly nonce: bigint }
  | { readonly kind: "setCode"; readonly address: Hex; readonly code: Uint8Array }
  | { readonly kind: "setSlot"; readonly address: Hex; readonly slot: Hex; readonly value: Uint8Array };

/** Makes the change in an overlay over the latest state. */
export function applyStep(step: StateStep, state: Overlay): void {
  const { address } = step;
  const record = state.account(address) ?? EMPTY_ACCOUNT;
  if (step.kind === "setBalance") state.setAccount(address, { ...record, balance: step.balance });
  else if (step.kind === "setNonce") state.setAccount(address, { ...record, nonce: step.nonce });
  else if (step.kind === "setCode") state.setCode(address, step.code);
  else {
    // Storage belongs to an account, or no root would commit to it.
    if (state.account(address) === undefined) state.setAccount(address, record);
    state.setSlot(address, step.slot, step.value);
  }
}
