export type { AdminToken } from "./admin/adminToken.js";
export { ADMIN_ROUTES, type AuditPage, type KeyPage, type RotateInput } from "./admin/routes.js";
export { createServer, type Server } from "./createServer.js";
export { InvalidOptionsError, StartError } from "./errors.js";
export { DEFAULT_OVERLAP_MS, type KeyAdmin } from "./keys/keyAdmin.js";
export type {
  AuditRecord,
  IssuedKey,
  KeyRecord,
  KeyState,
} from "./keys/keyRecord.js";
export { type OpenKeyAdmin, openKeyAdmin } from "./keys/openKeyAdmin.js";
export type { KeyTermsJson } from "./keys/terms.js";
export { type LaneAdmin, type LaneFindings, openLaneAdmin } from "./laneAdmin.js";
export { DEFAULTS, type ServerOptions } from "./options.js";
export { isOrigin } from "./origins.js";
export { LANE_STATES, type LaneState, type LaneStatus } from "./store/lanes.js";
export type { Finding } from "./sweep.js";
