// What the service's descriptions are made of: for tools and documents, not for a client's bundle.
export * from "../wire/schema/index.js";
export { asyncApiOf, FRAMES } from "./asyncApi.js";
export { CLOSE_NOTES } from "./closeCodes.js";
export { OF_ANY_REQUEST, OF_NO_ROUTE, OF_THE_KEY } from "./common.js";
export { EXAMPLES } from "./examples.js";
export { HEADERS, type HeaderName, headersOf, sharedHeadersOf } from "./headers.js";
export { INTRODUCTION, INTRODUCTION_TO_SOCKET, TITLE } from "./introduction.js";
export { openApiOf } from "./openApi.js";
export { CODE_NOTES, type Place, RETRY_LABELS, type ReasonNote } from "./ReasonNote.js";
export { REASON_GROUPS, REASON_NOTES } from "./reasons.js";
export { nameOf } from "./references.js";
export * from "./routes/index.js";
