export type {
  CheckLine,
  ErrorBody,
  Health,
  KeyPolicy,
  Readiness,
  ResultLine,
  Simulation,
  SubmissionFilter,
  SubmissionPage,
  SubmissionRecord,
  Wait,
} from "@gas-waiver/protocol/wire";
export { type Connection, type ConnectionOptions, createConnection } from "./Connection.js";
export { type CheckOptions, check } from "./check.js";
export {
  type ConnectOptions,
  connect,
  type SocketClient,
  type SocketSubmitOptions,
  type WebSocketConstructor,
} from "./connect.js";
export { createWaiverClient, type WaiverClient, type WaiverClientOptions } from "./createWaiverClient.js";
export { type HealthOptions, health } from "./health.js";
export { type ListOptions, type ListPageOptions, list, listPage } from "./list.js";
export { type PolicyOptions, policy } from "./policy.js";
export { type ReadyOptions, ready } from "./ready.js";
export type { RetryOptions } from "./retry.js";
export { type StatusOptions, status } from "./status.js";
export { type SubmitOptions, submit } from "./submit.js";
export {
  ConnectionFailedError,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
  SubmissionFailedError,
  UnusableAccountError,
  WaiverClientError,
} from "./WaiverClientError.js";
export { type WaitOptions, wait } from "./wait.js";
