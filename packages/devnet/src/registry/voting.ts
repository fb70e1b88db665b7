import { bytesToBigInt, hexToBytes } from "@gas-waiver/protocol";
import { WaiverRegistry } from "../contracts/artifacts.js";
import { type DevnetAccount, devnetAccounts } from "../presets/accounts.js";
import type { StateReader } from "../state/reader.js";
import { wordHex } from "../state/word.js";
import { REGISTRY } from "./policy.js";
import { mappingSlot } from "./slots.js";

// Proposals and validators, read from the registry's storage.

const { slots } = WaiverRegistry;

/** The number of proposals so far, which is also the id of the latest one. */
export function proposalCount(state: StateReader): bigint {
  return read(state, BigInt(slots.proposalCount));
}

/** The devnet's own accounts that are validators now, and the number of all validators. */
export function validatorsAt(state: StateReader): {
  readonly ours: readonly DevnetAccount[];
  readonly total: number;
} {
  // struct Validator, from the lowest byte: uint64 term, uint64 index. The term of a validator is at least 1.
  const isValidator = ({ address }: DevnetAccount) =>
    (read(state, mappingSlot(hexToBytes(address), BigInt(slots.validatorOf))) & 0xffff_ffff_ffff_ffffn) > 0n;
  return {
    ours: devnetAccounts.filter(isValidator),
    total: Number(read(state, BigInt(slots.validatorList))),
  };
}

function read(state: StateReader, slot: bigint | Uint8Array): bigint {
  return bytesToBigInt(state.slot(REGISTRY, wordHex(slot)));
}
