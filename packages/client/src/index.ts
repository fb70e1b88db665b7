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
export { type CheckOptions, check } from "./actions/check.js";
export { type HealthOptions, health } from "./actions/health.js";
export { type ListOptions, type ListPageOptions, list, listPage } from "./actions/list.js";
export { type PolicyOptions, policy } from "./actions/policy.js";
export { type ReadyOptions, ready } from "./actions/ready.js";
export { type StatusOptions, status } from "./actions/status.js";
export { type SubmitOptions, submit } from "./actions/submit.js";
export { type WaitOptions, wait } from "./actions/wait.js";
export { createWaiverClient, type WaiverClient, type WaiverClientOptions } from "./createWaiverClient.js";
export {
  ConnectionFailedError,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
  SubmissionFailedError,
  UnusableAccountError,
  WaiverClientError,
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
