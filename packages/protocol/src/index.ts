export * from "./accounts/address.js";
export * from "./accounts/signature.js";
export * from "./accounts/waiverAccount.js";
export * from "./chains/stable.js";
export { crypto, setCryptoBackend } from "./crypto/crypto.js";
export type { Crypto, Signature } from "./crypto/cryptoBackend.js";
export { javascriptCrypto } from "./crypto/javascript.js";
export { describeValue } from "./describeValue.js";
export * from "./encoding/hex.js";
export * from "./encoding/rlp.js";
export * from "./network.js";
export * from "./node/callFailure.js";
export * from "./node/nodeErrors.js";
export * from "./node/revert.js";
export * from "./policy/AllowedTarget.js";
export * from "./policy/abi.js";
export * from "./policy/policySets.js";
export * from "./policy/registry.js";
export * from "./policy/resultReader.js";
export * from "./protocolError.js";
export * from "./publishableKey.js";
export { type DetailedReason, type DetailName, type DetailsOf, detailNamesOf } from "./reasons/details.js";
export {
  codeOf,
  type ErrorCode,
  isLineCode,
  isReason,
  LINE_CODES,
  type LineCode,
  REASONS,
  REQUEST_ONLY_CODES,
  type Reason,
  type Retry,
  retryOf,
  statusOf,
} from "./reasons/index.js";
export * from "./transactions/decodeTransaction.js";
export * from "./transactions/InnerTx.js";
export * from "./transactions/intrinsicGas.js";
export * from "./transactions/SignedTransaction.js";
export * from "./transactions/WrapperTx.js";
export * from "./transactions/wrapperLength.js";
export * from "./validators/chainView.js";
export { assertNoContract } from "./validators/validatorChecks.js";
export * from "./validators/validatorRules.js";
export * from "./wire/index.js";
