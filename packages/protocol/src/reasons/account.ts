import { define } from "../define.js";
import type { ReasonGroup, ReasonsByCode } from "./reasonGroup.js";

/** The reasons for which the state of the sender's account refuses an InnerTx (D7, D20). */
export const ACCOUNT = {
  VALIDATION_FAILED: {
    NONCE_TOO_LOW: { node: true, details: ["nonce", "expected", "submission", "usedBy", "blockNumber"] },
    NONCE_CONFLICT: { details: ["nonce", "submission"] },
    NONCE_GAP: { node: true, retry: "later", details: ["nonce", "missing", "missingHolder", "submission"] },
    SENDER_IS_CONTRACT: { node: true },
    INSUFFICIENT_BALANCE: { node: true, details: ["balance", "value"] },
  },
} as const satisfies ReasonsByCode;

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof ACCOUNT> => ({
    title: "The transaction does not fit the sender's account",
    where: ["submit", "check", "record"],
    notes: {
      NONCE_TOO_LOW: {
        cause: "A transaction with this nonce is already in a block.",
        remedy: "Sign with the account's next nonce.",
      },
      NONCE_CONFLICT: {
        where: ["submit", "check"],
        cause: "Another transaction of this sender with this nonce is in flight (D20).",
        remedy: "Wait for its outcome, then use the next nonce.",
      },
      NONCE_GAP: {
        cause: "An earlier nonce did not arrive in time (D20).",
        remedy: "Send the missing transaction, then this one again.",
      },
      SENDER_IS_CONTRACT: {
        where: ["submit", "record"],
        cause: "The sender's account has the code of a contract, and may send nothing (EIP-3607).",
        remedy: "Sign with another account. A delegation (EIP-7702) is no contract.",
      },
      INSUFFICIENT_BALANCE: {
        cause: "The sender's balance does not cover the `value` it sends.",
        remedy: "Lower the value, or fund the account; gas costs nothing.",
      },
    },
  }),
);
