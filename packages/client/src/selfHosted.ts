/**
 * Wraps users' transactions and sends them to a node, without a service, for those who hold a waiver: `openWaiverRelay` does so
 * until each outcome is known, and `wrap` and `broadcast` once.
 */
export {
  type AllowedTargetJson,
  type InnerEncoding,
  privateKeyAccount,
  type Signature,
  type WaiverAccount,
} from "@gas-waiver/protocol";
export type { Journal } from "./bulk/journal.js";
export {
  ConnectionFailedError,
  InvalidArgumentError,
  JournalError,
  MalformedAnswerError,
  WaiverClientError,
} from "./errors.js";
export {
  type HashSignature,
  type HashSigner,
  type HexAccount,
  hashSignerAccount,
  type KeyHolder,
  type Waiver,
} from "./waiverRelay/accounts.js";
export { type BroadcastOptions, broadcast, NodeRefusedError } from "./waiverRelay/broadcast.js";
export { type RelayErrorCode, WaiverRelayError } from "./waiverRelay/relayError.js";
export {
  openWaiverRelay,
  type RelayCall,
  type RelayedResult,
  type WaiverRelay,
  type WaiverRelayOptions,
} from "./waiverRelay/waiverRelay.js";
export { hashOf, senderOf, type WrapOptions, wrap } from "./waiverRelay/wrap.js";
