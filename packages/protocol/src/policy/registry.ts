import type { Hex } from "../encoding/hex.js";
import type { AllowedTarget } from "./AllowedTarget.js";
import { encodeCall, topicOf } from "./abi.js";
import { ResultReader } from "./resultReader.js";

// A submission service reads the WaiverRegistry (D12) by calls, and learns from its events when to read again.

/**
 * Encodes the call that reads the version of a waiver's policy in force.
 * @param waiver 20 bytes.
 * @example
 * ```ts
 * const call = { to: bytesToHex(REGISTRY_ADDRESS), data: bytesToHex(policyVersionCall(waiver.address)) };
 * ```
 */
export function policyVersionCall(waiver: Uint8Array): Uint8Array {
  return encodeCall("versionOf(address)", waiver);
}

/**
 * Encodes the call that reads a waiver's policy in force.
 * @param waiver 20 bytes.
 * @example
 * ```ts
 * const call = { to: bytesToHex(REGISTRY_ADDRESS), data: bytesToHex(policyTargetsCall(waiver.address)) };
 * ```
 */
export function policyTargetsCall(waiver: Uint8Array): Uint8Array {
  return encodeCall("targetsOf(address)", waiver);
}

/**
 * Reads the answer to {@link policyVersionCall}; undefined for an address that is not a registered waiver.
 * @throws {@link UnexpectedResultError} if there is no registry at the address that was called.
 * @example
 * ```ts
 * const version = readPolicyVersion(hexToBytes(resultHex));
 * ```
 */
export function readPolicyVersion(result: Uint8Array): bigint | undefined {
  const version = new ResultReader(result).uint(64n);
  return version === 0n ? undefined : version;
}

/**
 * Reads the answer to {@link policyTargetsCall}; empty for an address that is not a registered waiver.
 * @throws {@link UnexpectedResultError} if there is no registry at the address that was called.
 * @example
 * ```ts
 * const policy = compilePolicy(readPolicyTargets(hexToBytes(resultHex)));
 * ```
 */
export function readPolicyTargets(result: Uint8Array): AllowedTarget[] {
  return new ResultReader(result).targets();
}

/**
 * The first topics of the events after which a waiver's policy may have changed. The second topic is the waiver.
 */
export const POLICY_EVENTS: readonly Hex[] = [
  topicOf("WaiverRegistered(address,uint64)"),
  topicOf("WaiverUpdated(address,uint64)"),
  topicOf("WaiverRevoked(address)"),
];
