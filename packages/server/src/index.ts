export { createServer, type Server } from "./createServer.js";
export { InvalidOptionsError, StartError } from "./errors.js";
export { type LaneAdmin, type LaneFindings, openLaneAdmin } from "./laneAdmin.js";
export { DEFAULTS, type ServerOptions } from "./options.js";
export { isOrigin } from "./origins.js";
export { LANE_STATES, type LaneState, type LaneStatus } from "./store/lanes.js";
export type { Finding } from "./sweep.js";
