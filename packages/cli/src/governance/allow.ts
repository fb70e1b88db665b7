import {
  type AllowedTarget,
  allowedTargetsToJson,
  bytesEqual,
  bytesToHex,
  encodeCall,
  hexToBytes,
  selectorOfSignature,
  uniteTargets,
} from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import { InvalidValueError } from "../settings/setting.js";
import type { Registry } from "./registry.js";

/** The ABI type AllowedTarget[] of the contract. */
export const TARGETS = "(address,bool,bool,bytes4[])[]";

/** A target that a waiver is to call beside those that it may call already. */
export interface Addition {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly added: AllowedTarget;
  /** The private keys of validators. The first proposes; then they vote one after the other until the proposal is carried. */
  readonly validators: readonly Uint8Array[];
  /** False leaves the votes to others. */
  readonly votes: boolean;
}

/**
 * Proposes to add a target to those of a waiver, and votes for it.
 * @returns the number of the proposal; undefined if the waiver may send that already.
 * @throws CommandFailedError if the waiver is not registered, or with the registry's reason.
 */
export async function proposeAddition(registry: Registry, addition: Addition): Promise<bigint | undefined> {
  const { waiver, added, validators, votes } = addition;
  const known = (await registry.waivers()).find(({ address }) => bytesEqual(address, waiver));
  if (known === undefined)
    throw new CommandFailedError(`${bytesToHex(waiver)} is not a registered waiver: propose --register it`);
  const targets = uniteTargets(known.targets, [added]);
  if (sameTargets(targets, uniteTargets(known.targets))) return undefined;
  const update = encodeCall(`proposeUpdate(address,${TARGETS})`, waiver, targets);
  const id = await registry.propose(validators[0], update);
  for (const validator of votes ? validators : []) {
    await registry.vote(validator, id, true);
    if ((await registry.proposal(id)).status !== "open") break;
  }
  return id;
}

function sameTargets(a: readonly AllowedTarget[], b: readonly AllowedTarget[]): boolean {
  return JSON.stringify(allowedTargetsToJson(a)) === JSON.stringify(allowedTargetsToJson(b));
}

/**
 * Reads the selector of a method: 4 bytes of hex, or its signature, such as `mint(address,uint256)`.
 * @throws {@link InvalidValueError}
 */
export function readSelector(text: string): Uint8Array {
  const trimmed = text.trim();
  if (/^0x[0-9a-fA-F]{8}$/.test(trimmed)) return hexToBytes(trimmed);
  // Another name of a type, such as uint, would give the selector of a method that no contract has.
  if (/^[\w$]+\(([(),]|\[\d*\]|address|bool|string|function|bytes\d*|u?int\d+)*\)$/.test(trimmed))
    return hexToBytes(selectorOfSignature(trimmed));
  throw new InvalidValueError(
    "is neither a selector of 4 bytes nor a signature such as mint(address,uint256)",
  );
}

/** Reads selectors and signatures that commas separate. */
export function readSelectors(list: string): Uint8Array[] {
  return (list.match(/[^,(]+(\([^)]*\))?/g) ?? []).map(readSelector);
}
