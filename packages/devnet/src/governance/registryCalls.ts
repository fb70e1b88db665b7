import {
  type AllowedTarget,
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  crypto,
  type Hex,
  hexToBytes,
  REGISTRY_ADDRESS,
} from "@gas-waiver/protocol";
import { WaiverRegistry } from "../contracts/artifacts.js";
import { type DevnetAccount, devnetAccounts } from "../presets/accounts.js";
import { mappingSlot, slotHex, word } from "../registry/slots.js";
import type { StateReader } from "../state/reader.js";

// Calldata for the registry and a look into its storage: as much as it takes to govern with the devnet's own
// validators, without a library.

const { slots } = WaiverRegistry;
const REGISTRY: Hex = bytesToHex(REGISTRY_ADDRESS);

function selector(signature: string): Uint8Array {
  return crypto.keccak256(new TextEncoder().encode(signature)).subarray(0, 4);
}

export function proposeRevoke(waiver: Hex): Uint8Array {
  return concatBytes(selector("proposeRevoke(address)"), word(hexToBytes(waiver)));
}

/** @param targets the ABI encoding of `AllowedTarget[]`. */
export function proposeRegister(waiver: Hex, targets: Uint8Array): Uint8Array {
  const signature = "proposeRegister(address,(address,bool,bool,bytes4[])[])";
  return concatBytes(selector(signature), word(hexToBytes(waiver)), word(64n), targets);
}

export function vote(proposal: bigint): Uint8Array {
  return concatBytes(selector("vote(uint256,bool)"), word(proposal), word(1n));
}

export function targetsOf(waiver: Hex): Uint8Array {
  return concatBytes(selector("targetsOf(address)"), word(hexToBytes(waiver)));
}

/** The ABI encoding of `AllowedTarget[]`, without the offset that leads to it. */
export function encodeTargets(targets: readonly AllowedTarget[]): Uint8Array {
  const entries = targets.map(encodeTarget);
  const offsets: Uint8Array[] = [];
  let offset = 32n * BigInt(entries.length);
  for (const entry of entries) {
    offsets.push(word(offset));
    offset += BigInt(entry.length);
  }
  return concatBytes(word(BigInt(entries.length)), ...offsets, ...entries);
}

function encodeTarget({ address, selectors }: AllowedTarget): Uint8Array {
  const anyTarget = address === "*";
  return concatBytes(
    word(anyTarget ? 0n : address),
    word(anyTarget ? 1n : 0n),
    word(selectors === undefined ? 1n : 0n),
    word(128n),
    word(BigInt(selectors?.length ?? 0)),
    ...(selectors ?? []).map((entry) => concatBytes(entry, new Uint8Array(28))),
  );
}

function read(state: StateReader, slot: bigint | Uint8Array): bigint {
  return bytesToBigInt(state.slot(REGISTRY, slotHex(slot)));
}

export function proposalCount(state: StateReader): bigint {
  return read(state, BigInt(slots.proposalCount));
}

/** The devnet's accounts that are validators now, and how many validators there are in all. */
export function validatorsAt(state: StateReader): {
  readonly ours: readonly DevnetAccount[];
  readonly total: number;
} {
  const isValidator = ({ address }: DevnetAccount) =>
    (read(state, mappingSlot(hexToBytes(address), BigInt(slots.validatorOf))) & 0xffff_ffff_ffff_ffffn) > 0n;
  return {
    ours: devnetAccounts.filter(isValidator),
    total: Number(read(state, BigInt(slots.validatorList))),
  };
}
