import { define } from "../define.js";
import type { ReasonGroup, ReasonsByCode } from "./reasonGroup.js";

/** The reasons for which a signed transaction is not a valid InnerTx (D1 to D4). */
export const INNER_TX_RULES = {
  VALIDATION_FAILED: {
    UNSUPPORTED_TYPE: { node: true },
    CUSTOM_TX_UNSUPPORTED: { node: true },
    UNPROTECTED_SIGNATURE: { node: true },
    INVALID_SIGNATURE: { node: true },
    HIGH_S_SIGNATURE: { node: true },
    NONCE_OUT_OF_RANGE: { node: true, details: ["nonce"] },
    WRONG_CHAIN_ID: { node: true, details: ["chainId", "expected"] },
    NON_ZERO_GAS_PRICE: { node: true, details: ["gasPrice"] },
    CONTRACT_CREATION: { node: true },
    TARGET_IS_MARKER: { node: true, details: ["target"] },
    GAS_LIMIT_TOO_LOW: { node: true, details: ["gasLimit", "intrinsicGas"] },
    // This limit and the next one are of the service, not of the chain.
    GAS_LIMIT_TOO_HIGH: { details: ["gasLimit", "maxGasLimit"] },
    DATA_TOO_LONG: { details: ["bytes", "maxDataLength"] },
    TRANSACTION_TOO_LARGE: { node: true, details: ["bytes", "wrapperBytes", "maxWrapperBytes"] },
    TARGET_NOT_ALLOWED: { node: true, details: ["target", "selector", "allowedSelectors"] },
    SELECTOR_NOT_ALLOWED: { node: true, details: ["target", "selector", "allowedSelectors"] },
  },
} as const satisfies ReasonsByCode;

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof INNER_TX_RULES> => ({
    title: "The transaction breaks a rule",
    where: ["submit", "check", "record"],
    notes: {
      UNSUPPORTED_TYPE: {
        cause: "The transaction is neither legacy, EIP-2930 nor EIP-1559 (D1).",
        remedy: "Sign a transaction of one of these types.",
      },
      CUSTOM_TX_UNSUPPORTED: {
        where: ["submit", "check", "record"],
        cause:
          "The transaction is a CustomTx (type 0x3F), which has a nonce of its own channel. Its format is not published.",
        remedy: "Sign a legacy, EIP-2930 or EIP-1559 transaction, with the account's usual nonce.",
      },
      UNPROTECTED_SIGNATURE: {
        cause: "The legacy signature has no chain id (D1).",
        remedy: "Sign with the `chainId`.",
      },
      INVALID_SIGNATURE: {
        cause:
          "The transaction is unsigned, or `r`, `s` or `v` is out of range, or no key can have made the signature.",
        remedy: "Sign again, and change nothing after signing.",
      },
      HIGH_S_SIGNATURE: {
        cause: "`s` is above half the order of the curve (EIP-2).",
        remedy: "Replace `s` by `n - s` and flip the parity; most signers do so themselves.",
      },
      NONCE_OUT_OF_RANGE: {
        cause: "The nonce is 2^64-1 (EIP-2681).",
        remedy: "Use the account's next nonce.",
      },
      WRONG_CHAIN_ID: {
        cause: "The transaction is signed for another chain.",
        remedy: "Sign with the chain id that the message names.",
      },
      NON_ZERO_GAS_PRICE: {
        cause: "The gas price, or one of the two fees, is not 0.",
        remedy: "Set `gasPrice`, or both fees, to 0 and sign again.",
      },
      CONTRACT_CREATION: {
        cause: "The transaction has no `to`.",
        remedy: "Deploy with an ordinary, paid transaction.",
      },
      TARGET_IS_MARKER: {
        cause: "`to` is the marker address: this is a wrapper.",
        remedy: "Send the InnerTx; the service wraps it.",
      },
      GAS_LIMIT_TOO_LOW: {
        cause: "The gas limit is below the intrinsic gas (D3).",
        remedy: "Raise it to what the call needs, at least what the message names.",
      },
      GAS_LIMIT_TOO_HIGH: {
        where: ["submit", "check"],
        cause: "The gas limit is above the service's limit.",
        remedy: "Lower it, or split the call.",
      },
      DATA_TOO_LONG: {
        where: ["submit", "check"],
        cause: "The calldata is longer than the service accepts.",
        remedy: "Split the call.",
      },
      TRANSACTION_TOO_LARGE: {
        cause:
          "The whole transaction, with its access list, is so large that nodes would refuse its wrapper (D3).",
        remedy: "Split the call, or shorten the access list.",
      },
      TARGET_NOT_ALLOWED: {
        cause: "The policy does not name this contract (D4).",
        remedy: "Check the address, or have the policy extended.",
      },
      SELECTOR_NOT_ALLOWED: {
        cause: "The policy names the contract, but not this method (D4).",
        remedy: "Check the method, or have the policy extended.",
      },
    },
  }),
);
