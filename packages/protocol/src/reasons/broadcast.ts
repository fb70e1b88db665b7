import { define } from "../define.js";
import type { ReasonGroup, ReasonsByCode } from "./reasonGroup.js";

/** The reasons for which a wrapper is refused (D5, D7), reverts (D16), or has no known outcome in time (D17). */
export const BROADCAST = {
  BROADCAST_FAILED: {
    WRAPPER_INVALID: { node: true },
    WRAPPER_INVALID_SIGNATURE: { node: true },
    WRAPPER_WRONG_CHAIN_ID: { node: true },
    WAIVER_NOT_REGISTERED: { node: true, retry: "later" },
    WRAPPER_NON_ZERO_GAS_PRICE: { node: true },
    WRAPPER_NON_ZERO_VALUE: { node: true },
    WRAPPER_NONCE_TOO_LOW: { node: true, retry: "later" },
    WRAPPER_NONCE_GAP: { node: true, retry: "later" },
    WRAPPER_GAS_LIMIT_TOO_LOW: { node: true, details: ["gasLimit", "needed"] },
    NODE_REFUSED: { retry: "later", details: ["nodeCode", "nodeMessage"] },
    REVERTED: {
      details: [
        "txHash",
        "blockNumber",
        "gasUsed",
        "gasLimit",
        "cause",
        "causeMessage",
        "panic",
        "revertData",
        "causeFrom",
      ],
    },
  },
  TIMEOUT: {
    NOT_BROADCAST: {},
    NOT_INCLUDED: {},
    OUTCOME_UNKNOWN: {},
  },
} as const satisfies ReasonsByCode;

const AFTER_TIMEOUT =
  "Look the submission up by its `id`; the work goes on. If the record says failed, send the transaction again.";

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof BROADCAST> => ({
    title: "The transaction did not make it onto the chain",
    where: ["submit", "record"],
    notes: {
      WRAPPER_INVALID: {
        cause: "The transaction does not decode, or is not a wrapper (D7).",
        remedy: "Report it, because the service builds the wrappers itself.",
      },
      WRAPPER_INVALID_SIGNATURE: {
        cause: "No key can have made the wrapper's signature.",
        remedy: "Report it; the operator checks the signer.",
      },
      WRAPPER_WRONG_CHAIN_ID: {
        cause: "The wrapper was signed for another chain than the node's.",
        remedy: "The operator corrects the node's address or the chain id.",
      },
      WAIVER_NOT_REGISTERED: {
        where: ["submit", "check"],
        cause: "The waiver is not in the registry, or is revoked.",
        remedy: "The operator has the waiver registered (D12), or uses another one.",
      },
      WRAPPER_NON_ZERO_GAS_PRICE: {
        cause: "The wrapper's gas price is not 0.",
        remedy: "Sign wrappers with gas price 0.",
      },
      WRAPPER_NON_ZERO_VALUE: {
        cause: "The wrapper's `value` is not 0.",
        remedy: "Sign wrappers with `value` 0; value belongs in the InnerTx.",
      },
      WRAPPER_NONCE_TOO_LOW: {
        where: [],
        cause: "Another transaction used the waiver's nonce.",
        remedy: "Let one service alone use a waiver's key. It signs the wrapper again by itself.",
      },
      WRAPPER_NONCE_GAP: {
        where: [],
        cause: "A wrapper with an earlier nonce is missing.",
        remedy: "The service fills the gap by itself; try again later.",
      },
      WRAPPER_GAS_LIMIT_TOO_LOW: {
        cause: "The wrapper's gas limit does not cover the InnerTx's gas limit and its own gas.",
        remedy: "The operator raises the verification gas.",
      },
      NODE_REFUSED: {
        cause: "The node refused the wrapper for a reason of its own, which the message quotes.",
        remedy: "Follow the message.",
      },
      REVERTED: {
        cause: "The transaction is in a block and reverted; its nonce is used (D16).",
        remedy:
          "Correct what `details.causeMessage` names; where there is none, replay the transaction on a node of your own.",
      },
      NOT_BROADCAST: {
        cause: "The wait ended before the wrapper was sent (D17).",
        remedy: AFTER_TIMEOUT,
      },
      NOT_INCLUDED: {
        cause:
          "The wait ended with the wrapper sent and not yet in a block (D17). In a record: the chain is a devnet that was taken back.",
        remedy: AFTER_TIMEOUT,
      },
      OUTCOME_UNKNOWN: {
        where: ["submit"],
        cause: "The wait ended without an answer of the node, which may have accepted the wrapper (D17).",
        remedy: "Look the submission up by its `id`. Sending the same transaction again does no harm (D18).",
      },
    },
  }),
);
