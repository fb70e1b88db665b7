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
  },
  required: ["id", "state", "certainty", "txHash", "sender", "nonce", "acceptedAt"],
} as const satisfies Schema;
