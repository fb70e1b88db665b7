import {
  bytesToBigInt,
  bytesToHex,
  concatBytes,
  crypto,
  type Hex,
  REGISTRY_ADDRESS,
  selectorOf,
  type Verdict,
} from "@gas-waiver/protocol";
import { WaiverRegistry } from "../contracts/artifacts.js";
import type { StateReader } from "../state/reader.js";
import { word, wordHex } from "../state/word.js";
import { mappingSlot } from "./slots.js";

// Reads policies from the registry's storage slots, which takes far less time than a call of the contract.
// WaiverRegistry.sol defines the layout.

const { slots } = WaiverRegistry;
export const REGISTRY: Hex = bytesToHex(REGISTRY_ADDRESS);

/** The flags of a permission's scope. */
export const ANY_TARGET = 1;
export const ANY_SELECTOR = 2;
export const LISTED = 4;

const NO_ADDRESS = new Uint8Array(20);
const NO_SELECTOR = new Uint8Array(4);

/** The policy version in force for a waiver; undefined if the account is not a registered waiver. */
export function policyVersion(state: StateReader, waiver: Uint8Array): bigint | undefined {
  const packed = bytesToBigInt(state.slot(REGISTRY, waiverSlot(waiver)));
  // struct Waiver, from the lowest byte: bool registered, uint64 version, uint64 index.
  return (packed & 0xffn) === 0n ? undefined : (packed >> 8n) & 0xffff_ffff_ffff_ffffn;
}

/** Checks a call against a waiver's policy (D4). */
export function policyVerdict(
  state: StateReader,
  waiver: Uint8Array,
  to: Uint8Array,
  data: Uint8Array,
): Verdict {
  const version = policyVersion(state, waiver);
  if (version === undefined) return "target not allowed";
  const permits = (target: Uint8Array, selector: Uint8Array, flags: number) =>
    state.slot(REGISTRY, permissionSlot(waiver, version, target, selector, flags)).length > 0;
  const selector = selectorOf(data);
  if (selector !== undefined && permits(to, selector, 0)) return "allowed";
  if (permits(to, NO_SELECTOR, ANY_SELECTOR)) return "allowed";
  if (selector !== undefined && permits(NO_ADDRESS, selector, ANY_TARGET)) return "allowed";
  if (permits(NO_ADDRESS, NO_SELECTOR, ANY_TARGET | ANY_SELECTOR)) return "allowed";
  const listed = permits(to, NO_SELECTOR, LISTED) || permits(NO_ADDRESS, NO_SELECTOR, ANY_TARGET | LISTED);
  return listed ? "selector not allowed" : "target not allowed";
}

/** The slot of `waivers[waiver]`. */
function waiverSlot(waiver: Uint8Array): Hex {
  return remembered(bytesToHex(waiver), () => wordHex(mappingSlot(waiver, BigInt(slots.waivers))));
}

/** The slot of `permissions[keccak256(abi.encode(waiver, version, scope))]`. */
export function permissionSlot(
  waiver: Uint8Array,
  version: bigint,
  target: Uint8Array,
  selector: Uint8Array,
  flags: number,
): Hex {
  const scope = new Uint8Array(32);
  scope.set(target, 0);
  scope.set(selector, 20);
  scope[24] = flags;
  return remembered(`${bytesToHex(waiver)} ${version} ${bytesToHex(scope)}`, () => {
    const key = crypto.keccak256(concatBytes(word(waiver), word(version), scope));
    return wordHex(mappingSlot(key, BigInt(slots.permissions)));
  });
}

/** Slots that were hashed before. A waiver's wrappers read the same ones again and again. */
const rememberedSlots = new Map<string, Hex>();
const MAX_REMEMBERED = 10_000;

function remembered(key: string, compute: () => Hex): Hex {
  let slot = rememberedSlots.get(key);
  if (slot === undefined) {
    slot = compute();
    if (rememberedSlots.size >= MAX_REMEMBERED) rememberedSlots.clear();
    rememberedSlots.set(key, slot);
  }
  return slot;
}
