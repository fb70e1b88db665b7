export { callFailureOf } from "../node/callFailure.js";
export { wasNeverSent } from "../node/networkErrors.js";
export type { DetailedReason, DetailName, DetailsOf } from "../reasons/details.js";
export { isReason, type Retry, retryOf, statusOf } from "../reasons/index.js";
export {
  type ClientFrame,
  encodeClientFrame,
  type ReceivedFrame,
  readParsedFrame,
  type SubmitFrame,
  type WatchFrame,
} from "./clientFrame.js";
export {
  detailsOf,
  type ErrorBody,
  type ErrorDetails,
  errorBodyOf,
  parseErrorBody,
  parseRequestErrorBody,
  type RequestErrorBody,
  requestErrorBody,
} from "./errorBody.js";
export {
  assertFewValues,
  DEFAULT_MAX_BATCH_SIZE,
  DEFAULT_MAX_BODY_BYTES,
  MAX_JSON_VALUES,
} from "./limits.js";
export {
  type AnySubmissionRecord,
  parseAnySubmissionRecord,
  parseRefusedRecord,
  type RefusedRecord,
} from "./refusedRecord.js";
export { encodeResultLine, NDJSON, parseResultLine, type ResultLine } from "./resultLine.js";
export {
  IDEMPOTENCY_KEY,
  isIdempotencyKey,
  MAX_IDEMPOTENCY_KEY_LENGTH,
  parseIdempotencyKey,
} from "./routes/idempotencyKey.js";
export * from "./routes/index.js";
export {
  encodeDoneFrame,
  encodeErrorFrame,
  encodeLineFrame,
  parseServerFrame,
  type ServerFrame,
} from "./serverFrame.js";
export {
  CERTAINTIES,
  type Certainty,
  parseSubmissionRecord,
  SUBMISSION_STATES,
  type SubmissionRecord,
  type SubmissionStateName,
} from "./submissionRecord.js";
export { parseSubmitRequest, type SubmitRequest } from "./submitRequest.js";
export { MAX_REQUEST_ID_LENGTH, type RequestId } from "./values.js";
export { parseWait, WAITS, type Wait } from "./wait.js";
export { WireError } from "./wireError.js";
