import { CERTAINTIES, SUBMISSION_STATES } from "../submission.js";
import { ERROR_SCHEMA } from "./errorBody.js";
import type { Schema } from "./Schema.js";
import { ADDRESS, DECIMAL, HASH, SUBMISSION_ID, TIME, TX_HASH } from "./values.js";

export const SUBMISSION_RECORD_SCHEMA = {
  type: "object",
  description: "What became of a submission (D15, D17).",
  properties: {
    id: SUBMISSION_ID,
    state: { type: "string", enum: SUBMISSION_STATES, description: "In the order of a submission's life." },
    certainty: {
      type: "string",
      enum: CERTAINTIES,
      description:
        "What is known of the chain's side (D17). `unknown`: it was sent, and no clear answer came.",
    },
    txHash: TX_HASH,
    sender: { ...ADDRESS, description: "Who signed the InnerTx." },
    nonce: { ...DECIMAL, description: "The sender's nonce." },
    target: { ...ADDRESS, description: "The contract that the InnerTx calls." },
    selector: {
      type: "string",
      pattern: "^0x[0-9a-f]{8}$",
      description: "The method that it calls; not there where the calldata is too short for one.",
    },
    acceptedAt: { ...TIME, description: "When the service took it." },
    wrapperHash: { ...HASH, description: "The wrapper's hash; from `signed` on." },
    waiver: { ...ADDRESS, description: "Who signed the wrapper." },
    waiverNonce: { ...DECIMAL, description: "The wrapper's nonce." },
    blockNumber: { ...DECIMAL, description: "The block of the InnerTx, when `included`." },
    blockHash: HASH,
    gasUsed: { ...DECIMAL, description: "The InnerTx's gas." },
    reverted: { type: "boolean", description: "The InnerTx is in the block, and failed there." },
    /** When `failed`, or included and reverted. */
    error: ERROR_SCHEMA,
    signedAt: { ...TIME, description: "When its wrapper was signed, the last time." },
    broadcastAt: { ...TIME, description: "When a node took the wrapper, the last time." },
    includedAt: { ...TIME, description: "When the service saw it in its block." },
    finalAt: { ...TIME, description: "When nothing could take it out of its block any more." },
    failedAt: { ...TIME, description: "When it failed for good." },
  },
  required: ["id", "state", "certainty", "txHash", "sender", "nonce", "acceptedAt"],
} as const satisfies Schema;

export const SUBMISSION_PAGE_SCHEMA = {
  type: "object",
  description: "One page of a list of submissions.",
  properties: {
    submissions: { type: "array", items: SUBMISSION_RECORD_SCHEMA, description: "Newest first." },
    next: {
      type: "string",
      description:
        "The `cursor` of the page after this one; not there on the last. A page before the last may be short, or empty.",
    },
  },
  required: ["submissions"],
} as const satisfies Schema;
