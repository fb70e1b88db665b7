// The sources of OpenAPI, AsyncAPI, the page at /docs and docs/errors.md. A client's bundle has none of them.
export { CODE_NOTES, RETRY_LABELS } from "../reasons/codes.js";
export { DETAIL_NOTES } from "../reasons/detailNotes.js";
export { REASON_GROUPS, REASON_NOTES } from "../reasons/notes.js";
export type { Place, ReasonNote } from "../reasons/reasonGroup.js";

export { HEADERS, type HeaderName, headersOf, sharedHeadersOf } from "../wire/responseHeaders.js";
export type { RouteName } from "../wire/routes/index.js";
export type {
  ParameterDescription,
  ResponseDescription,
  RouteDefinition,
} from "../wire/routes/routeDefinition.js";
export { ADDRESS, DECIMAL, HASH, type NamedSchema, type Schema } from "../wire/schema.js";

export { asyncApiOf } from "./asyncApi.js";
export { type DescribedService, INTRODUCTION, INTRODUCTION_TO_SOCKET, TITLE } from "./introduction.js";
export { openApiOf } from "./openApi.js";
export {
  COMMON_REFUSALS,
  KEY_REFUSALS,
  NO_ROUTE_REFUSALS,
  refusalsByStatus,
  refusalsOf,
} from "./refusals.js";
export { CLOSE_NOTES, FRAMES, ROUTE_DEFINITIONS, ROUTE_NAMES } from "./routes.js";
export {
  EXAMPLES,
  examplesOf,
  nameOf,
  SCHEMA_NAMES,
  SCHEMAS,
  type SchemaName,
  schemaNameOf,
} from "./schemas.js";
