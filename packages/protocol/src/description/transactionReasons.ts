import type { Reason } from "../reasons.js";
import type { ReasonNote } from "./ReasonNote.js";

type Notes = Partial<Record<Reason, ReasonNote>>;

/** The transaction could not be read. */
export const UNREADABLE = {
  INVALID_HEX: {
    where: ["line"],
    cause: "The string is not `0x` and whole bytes of hex digits.",
    remedy: "Send what the signing library returned, unchanged.",
    retry: "corrected",
  },
  EMPTY_TRANSACTION: {
    where: ["line"],
    cause: "An empty string, or `0x` alone.",
    remedy: "Send the signed transaction.",
    retry: "corrected",
  },
  MALFORMED_RLP: {
    where: ["line"],
    cause: "Cut off, padded, or with fields too many, too few or of the wrong kind.",
    remedy: "Send the whole signed bytes; an unsigned transaction has too few fields.",
    retry: "corrected",
  },
  NON_CANONICAL_RLP: {
    where: ["line"],
    cause: "A number with leading zeros, or a length not in its shortest form (D2).",
    remedy: "Use a library that encodes canonically; all current ones do.",
    retry: "corrected",
  },
  MALFORMED_TRANSACTION: {
    where: ["line"],
    cause: "A field has a length that it cannot have, such as an address of 19 bytes.",
    remedy: "Correct the field that the message names, and sign again.",
    retry: "corrected",
  },
} as const satisfies Notes;

/** The transaction breaks a rule. */
export const AGAINST_A_RULE = {
  UNSUPPORTED_TYPE: {
    where: ["line"],
    cause: "Neither legacy, EIP-2930 nor EIP-1559 (D1).",
    remedy: "Sign one of these.",
    retry: "corrected",
  },
  UNPROTECTED_SIGNATURE: {
    where: ["line"],
    cause: "A legacy signature without a chain id (D1).",
    remedy: "Sign with the `chainId`.",
    retry: "corrected",
  },
  INVALID_SIGNATURE: {
    where: ["line"],
    cause: "Not signed, r, s or v out of range, or a signature that no key can have made.",
    remedy: "Sign again; nothing may change after signing.",
    retry: "corrected",
  },
  HIGH_S_SIGNATURE: {
    where: ["line"],
    cause: "s is above half the order of the curve (EIP-2).",
    remedy: "Replace s by n - s and the parity by the other; most signers do so themselves.",
    retry: "corrected",
  },
  NONCE_OUT_OF_RANGE: {
    where: ["line"],
    cause: "The nonce is 2^64-1 (EIP-2681).",
    remedy: "Use the account's next nonce.",
    retry: "corrected",
  },
  WRONG_CHAIN_ID: {
    where: ["line"],
    cause: "Signed for another chain.",
    remedy: "Sign with the chain id that the message names.",
    retry: "corrected",
  },
  NON_ZERO_GAS_PRICE: {
    where: ["line"],
    cause: "The gas price, or one of the fees, is not 0.",
    remedy: "Set `gasPrice`, or both fees, to 0 and sign again.",
    retry: "corrected",
  },
  CONTRACT_CREATION: {
    where: ["line"],
    cause: "No `to`.",
    remedy: "Deploy with an ordinary, paid transaction.",
    retry: "corrected",
  },
  TARGET_IS_MARKER: {
    where: ["line"],
    cause: "`to` is the marker: this is a wrapper.",
    remedy: "Send the InnerTx; the service wraps it.",
    retry: "corrected",
  },
  GAS_LIMIT_TOO_LOW: {
    where: ["line"],
    cause: "The gas limit is below the intrinsic gas (D3).",
    remedy: "Raise it to what the call needs, at least what the message names.",
    retry: "corrected",
  },
  GAS_LIMIT_TOO_HIGH: {
    where: ["line"],
    cause: "The gas limit is above the service's limit.",
    remedy: "Lower it, or split the call.",
    retry: "corrected",
  },
  DATA_TOO_LONG: {
    where: ["line"],
    cause: "More calldata than the service takes.",
    remedy: "Split the call.",
    retry: "corrected",
  },
  TARGET_NOT_ALLOWED: {
    where: ["line"],
    cause: "The policy does not name this contract (D4).",
    remedy: "Check the address; else have the policy extended.",
    retry: "corrected",
  },
  SELECTOR_NOT_ALLOWED: {
    where: ["line"],
    cause: "The policy names the contract, but not this method (D4).",
    remedy: "Check the method; else have the policy extended.",
    retry: "corrected",
  },
} as const satisfies Notes;

/** It does not fit the user's account. */
export const ACCOUNT = {
  NONCE_TOO_LOW: {
    where: ["line"],
    cause: "A transaction with this nonce is in a block already.",
    remedy: "Sign with the account's next nonce.",
    retry: "corrected",
  },
  NONCE_CONFLICT: {
    where: ["line"],
    cause: "Another transaction of this sender with this nonce is under way (D20).",
    remedy: "Wait for that one, then take the next nonce.",
    retry: "corrected",
  },
  NONCE_GAP: {
    where: ["line"],
    cause: "An earlier nonce did not arrive in time (D20).",
    remedy: "Send the missing transaction, then this one again.",
    retry: "later",
  },
  INSUFFICIENT_BALANCE: {
    where: ["line"],
    cause: "The sender does not own the `value` it sends.",
    remedy: "Lower the value, or fund the account; gas needs nothing.",
    retry: "corrected",
  },
} as const satisfies Notes;

/** A daily cap of the API key is used up (D25). */
export const CAPS = {
  CAP_EXCEEDED: {
    where: ["line"],
    cause: "The key, or this sender under it, has used what it may in a day of UTC: transactions, or gas.",
    remedy:
      "Wait for the next day, or ask the operator. What fails without reaching the chain is free again.",
    retry: "later",
  },
} as const satisfies Notes;
