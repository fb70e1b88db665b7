import { codeOf, REASONS, type Reason, statusOf } from "../reasons/index.js";
import definitions, { ROUTES, type RouteName } from "../wire/routes/index.js";

/** The reasons for which a request for any path is refused: its HTTP or its query is malformed, or the service has a fault. */
export const COMMON_REFUSALS: readonly Reason[] = [
  "MALFORMED_QUERY",
  "MALFORMED_HTTP",
  "REQUEST_TOO_SLOW",
  "HEAD_TOO_LARGE",
  "INTERNAL_ERROR",
];

/**
 * The reasons for which a request that needs an API key is refused: every reason of the code `UNAUTHORIZED` but
 * those of the admin API, and too many unknown keys.
 */
export const KEY_REFUSALS: readonly Reason[] = (Object.keys(REASONS) as Reason[]).filter(
  (reason) =>
    reason === "TOO_MANY_UNKNOWN_KEYS" || (codeOf(reason) === "UNAUTHORIZED" && reason !== "ROLE_TOO_LOW"),
);

/** The reasons for which a request that matches no route is refused. */
export const NO_ROUTE_REFUSALS: readonly Reason[] = ["NO_SUCH_PATH", "NO_SUCH_METHOD"];

/**
 * Returns every reason for which a request of the route is refused as a whole.
 * @example
 * ```ts
 * refusalsOf("health"); // ["MALFORMED_QUERY", "MALFORMED_HTTP", "REQUEST_TOO_SLOW", "HEAD_TOO_LARGE", "INTERNAL_ERROR"]
 * ```
 */
export function refusalsOf(name: RouteName): readonly Reason[] {
  const keyRefusals = ROUTES[name].authenticated ? KEY_REFUSALS : [];
  return [...definitions[name].refusals, ...keyRefusals, ...COMMON_REFUSALS];
}

/**
 * Groups reasons by their HTTP status, in ascending order.
 * @example
 * ```ts
 * for (const [status, reasons] of refusalsByStatus(refusalsOf("submit"))) console.log(status, reasons);
 * ```
 */
export function refusalsByStatus(reasons: readonly Reason[]): ReadonlyMap<number, readonly Reason[]> {
  const statuses = [...new Set(reasons.map(statusOf))].sort((a, b) => a - b);
  return new Map(statuses.map((status) => [status, reasons.filter((reason) => statusOf(reason) === status)]));
}
