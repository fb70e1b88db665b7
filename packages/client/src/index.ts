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
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
  SubmissionFailedError,
  UnusableAccountError,
  WaiverClientError,
  WrongSenderError,
} from "./errors.js";
export { type Connection, type ConnectionOptions, createConnection } from "./http/connection.js";
export type { RetryOptions } from "./http/retry.js";
export {
  type ConnectOptions,
  connect,
  type SocketClient,
  type SocketSubmitOptions,
  type WebSocketConstructor,
} from "./socket/connect.js";
