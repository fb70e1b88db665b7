import type { AllowedTarget } from "./AllowedTarget.js";
import { encodeCall, ResultReader, topicOf } from "./abi.js";
import type { Hex } from "./hex.js";

// The WaiverRegistry as a submission service reads it (D12): by calls, and by the events that tell when to read again.

/** Calldata that asks for the number of the policy in force. */
export function policyVersionCall(waiver: Uint8Array): Uint8Array {
  return encodeCall("versionOf(address)", waiver);
}

/** Calldata that asks for the policy in force. */
export function policyTargetsCall(waiver: Uint8Array): Uint8Array {
  return encodeCall("targetsOf(address)", waiver);
}

/**
 * The answer to {@link policyVersionCall}; undefined for an address that is no registered waiver.
 * @throws UnexpectedResultError if there is no registry at the address that was called.
 */
export function readPolicyVersion(result: Uint8Array): bigint | undefined {
  const version = new ResultReader(result).uint();
  return version === 0n ? undefined : version;
}

/**
 * The answer to {@link policyTargetsCall}; empty for an address that is no registered waiver.
 * @throws UnexpectedResultError if there is no registry at the address that was called.
 */
export function readPolicyTargets(result: Uint8Array): AllowedTarget[] {
  return new ResultReader(result).targets();
}

/** The first topics of the events after which a waiver's policy may be another; the second topic is the waiver. */
export const POLICY_EVENTS: readonly Hex[] = [
  topicOf("WaiverRegistered(address,uint64)"),
  topicOf("WaiverUpdated(address,uint64)"),
  topicOf("WaiverRevoked(address)"),
];
