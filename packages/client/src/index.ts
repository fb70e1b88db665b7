export {
  type DetailsOf,
  detailsOf,
  type ErrorBody,
  type ErrorDetails,
  type Retry,
} from "@gas-waiver/protocol/wire";
export * from "./createWaiverClient.js";
export {
  ConnectionFailedError,
  type InDoubtTransaction,
  InvalidArgumentError,
  JournalError,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
  SubmissionFailedError,
  UnusableAccountError,
  WaiverClientError,
  WalletCallsError,
  WalletNetworkError,
  WrongSenderError,
} from "./errors.js";
export { type Connection, type ConnectionOptions, createConnection } from "./http/connection.js";
export type { RetryOptions } from "./http/retry.js";
export { announceProvider, type ProviderInfo } from "./provider/announceProvider.js";
export {
  type Eip1193Provider,
  type GaslessProviderOptions,
  gaslessProvider,
} from "./provider/gaslessProvider.js";
export { type GatewayRefusal, gatewayRefusal } from "./provider/gatewayRefusal.js";
export {
  type ConnectOptions,
  connect,
  type SocketClient,
  type SocketSubmitOptions,
  type SocketWatchOptions,
  type WebSocketConstructor,
} from "./socket/connect.js";
