export type { ErrorBody, Health, ResultLine, Wait } from "@gas-waiver/protocol/wire";
export { type Connection, type ConnectionOptions, createConnection } from "./Connection.js";
export { createWaiverClient, type WaiverClient, type WaiverClientOptions } from "./createWaiverClient.js";
export { type HealthOptions, health } from "./health.js";
export { type SubmitOptions, submit } from "./submit.js";
export {
  ConnectionFailedError,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
  WaiverClientError,
} from "./WaiverClientError.js";
