import { type ErrorBody, parseErrorBody } from "./errorBody.js";
import { WireError } from "./WireError.js";

/** The states of a submission, in the order of its life. */
export const SUBMISSION_STATES = ["queued", "signed", "broadcast", "included", "failed"] as const;
export type SubmissionStateName = (typeof SUBMISSION_STATES)[number];

/** What is known of the chain's side (D17): `unknown` means that bytes were sent and no clear answer came. */
export const CERTAINTIES = ["not_broadcast", "broadcast", "unknown"] as const;
export type Certainty = (typeof CERTAINTIES)[number];

/**
 * The record of a submission, as `GET /v1/submissions/{id}` answers it (D15, D17). Addresses, hashes and
 * selectors are 0x-prefixed hex; nonces and gas are decimal text, because they may pass 2^53; times are ISO 8601.
 * Newer services may add members (D26).
 */
export interface SubmissionRecord {
  readonly id: string;
  readonly state: SubmissionStateName;
  readonly certainty: Certainty;
  /** The InnerTx's hash (D6). */
  readonly txHash: string;
  readonly sender: string;
  readonly nonce: string;
  /** What the InnerTx calls; `selector` where its calldata has one. */
  readonly target?: string;
  readonly selector?: string;
  readonly acceptedAt: string;
  /** From `signed` on. */
  readonly wrapperHash?: string;
  readonly waiver?: string;
  readonly waiverNonce?: string;
  /** When included: the block, the InnerTx's gas, and whether it reverted. */
  readonly blockNumber?: string;
  readonly blockHash?: string;
  readonly gasUsed?: string;
  readonly reverted?: boolean;
  /** When failed, or included and reverted. */
  readonly error?: ErrorBody;
  /** The last time that it was signed, and that a node took it. What was queued again has them no more. */
  readonly signedAt?: string;
  readonly broadcastAt?: string;
  /** When the service saw it in its block, and that the block stays. */
  readonly includedAt?: string;
  readonly finalAt?: string;
  readonly failedAt?: string;
}

const TEXTS = ["id", "txHash", "sender", "nonce", "acceptedAt"];
const LATER_TEXTS = [
  ...["target", "selector", "wrapperHash", "waiver", "waiverNonce", "blockNumber", "blockHash", "gasUsed"],
  ...["signedAt", "broadcastAt", "includedAt", "finalAt", "failedAt"],
];

/** @throws {@link WireError} if the value is not a submission's record. */
export function parseSubmissionRecord(value: unknown): SubmissionRecord {
  const record = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const known =
    SUBMISSION_STATES.some((name) => name === record.state) &&
    CERTAINTIES.some((name) => name === record.certainty) &&
    TEXTS.every((name) => typeof record[name] === "string") &&
    LATER_TEXTS.every((name) => ["undefined", "string"].includes(typeof record[name])) &&
    ["undefined", "boolean"].includes(typeof record.reverted);
  if (!known) throw new WireError("the answer is not the record of a submission", value);
  if (record.error !== undefined) parseErrorBody(record.error);
  return value as SubmissionRecord;
}
