export type { ErrorBody, Health, Readiness, ResultLine, Wait } from "@gas-waiver/protocol/wire";
export { type Connection, type ConnectionOptions, createConnection } from "./Connection.js";
export { type ConnectOptions, connect, type SocketClient, type WebSocketConstructor } from "./connect.js";
export { createWaiverClient, type WaiverClient, type WaiverClientOptions } from "./createWaiverClient.js";
export { type HealthOptions, health } from "./health.js";
export { type ReadyOptions, ready } from "./ready.js";
export { type SubmitOptions, submit } from "./submit.js";
export {
  ConnectionFailedError,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
  WaiverClientError,
} from "./WaiverClientError.js";
