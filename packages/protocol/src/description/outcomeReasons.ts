import type { Reason } from "../reasons.js";
import type { ReasonNote } from "./ReasonNote.js";

type Notes = Partial<Record<Reason, ReasonNote>>;

/** It could not be put on chain. */
export const CHAIN = {
  WRAPPER_INVALID: {
    where: ["line"],
    cause: "The wrapper does not decode, or is none (D7).",
    remedy: "Report it: the service builds wrappers itself.",
    retry: "corrected",
  },
  WRAPPER_INVALID_SIGNATURE: {
    where: ["line"],
    cause: "No key can have made the wrapper's signature.",
    remedy: "Report it; the operator checks the signer.",
    retry: "corrected",
  },
  WRAPPER_WRONG_CHAIN_ID: {
    where: ["line"],
    cause: "The wrapper was signed for another chain than the node's.",
    remedy: "The operator corrects the node's address or the chain id.",
    retry: "corrected",
  },
  WAIVER_NOT_REGISTERED: {
    where: ["line"],
    cause: "The waiver is not in the registry, or was revoked.",
    remedy: "The operator has it registered (D12), or uses another.",
    retry: "later",
  },
  WRAPPER_NON_ZERO_GAS_PRICE: {
    where: ["line"],
    cause: "The wrapper has a price.",
    remedy: "Sign wrappers with gas price 0.",
    retry: "corrected",
  },
  WRAPPER_NON_ZERO_VALUE: {
    where: ["line"],
    cause: "The wrapper carries value.",
    remedy: "Sign wrappers with value 0; value belongs into the InnerTx.",
    retry: "corrected",
  },
  WRAPPER_NONCE_TOO_LOW: {
    where: ["line"],
    cause: "The waiver's nonce was used elsewhere.",
    remedy: "Let one service alone use a waiver's key; it signs again by itself.",
    retry: "later",
  },
  WRAPPER_NONCE_GAP: {
    where: ["line"],
    cause: "A wrapper with an earlier nonce is missing.",
    remedy: "The service fills the gap by itself; try again later.",
    retry: "later",
  },
  WRAPPER_GAS_LIMIT_TOO_LOW: {
    where: ["line"],
    cause: "The wrapper's gas does not cover the inner's and its own.",
    remedy: "Raise the verification gas.",
    retry: "corrected",
  },
  NODE_REFUSED: {
    where: ["line"],
    cause: "The node refused for a reason of its own; the message quotes it.",
    remedy: "As the message says.",
    retry: "later",
  },
  REVERTED: {
    where: ["line"],
    cause: "It is in a block and reverted; its nonce is used (D16).",
    remedy: "Look at the receipt under the transaction's hash.",
    retry: "corrected",
  },
  NOT_BROADCAST: {
    where: ["line"],
    cause: "Waiting ended before the wrapper was sent (D17).",
    remedy: "Look the submission up by its `id`; the work goes on.",
    retry: "now",
  },
  NOT_INCLUDED: {
    where: ["line"],
    cause: "Waiting ended with the wrapper sent and in no block yet (D17).",
    remedy: "Look the submission up by its `id`; the work goes on.",
    retry: "now",
  },
  OUTCOME_UNKNOWN: {
    where: ["line"],
    cause: "Waiting ended without the node's answer: it may have been sent (D17).",
    remedy: "Look the submission up by its `id`. Sending the same transaction again does no harm (D18).",
    retry: "now",
  },
} as const satisfies Notes;

/** A submission cannot be watched. */
export const WATCH = {
  UNKNOWN_SUBMISSION: {
    where: ["line"],
    cause: "In a `watch`: this key has no submission with this id.",
    remedy: "Check the `id`; or send the transaction again, which does no harm (D18).",
    retry: "corrected",
  },
} as const satisfies Notes;
