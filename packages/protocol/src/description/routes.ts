import definitions, { type RouteName } from "../wire/routes/index.js";
import type { RouteDefinition } from "../wire/routes/routeDefinition.js";

/** The definition of each route, in the order of the reference. */
export const ROUTE_DEFINITIONS: Readonly<Record<RouteName, RouteDefinition>> = definitions;

export const ROUTE_NAMES = Object.keys(definitions) as readonly RouteName[];

/** The frames of the WebSocket (D23), and the cause and remedy of each of its close codes. */
export const { frames: FRAMES, closeNotes: CLOSE_NOTES } = definitions.socket;
