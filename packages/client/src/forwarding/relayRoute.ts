import { ProtocolError } from "@gas-waiver/protocol";
import { CHECK_ROUTE, SUBMISSIONS_ROUTE, SUBMIT_ROUTE } from "@gas-waiver/protocol/wire";

/** A request that the relay serves. There are no others. */
export type RelayRoute =
  | { readonly name: "submit" | "check" | "records" }
  | { readonly name: "record"; readonly id: string; readonly isHash: boolean };

const ROUTES: ReadonlyMap<
  string,
  { readonly name: "submit" | "check" | "records"; readonly method: string }
> = new Map([
  [SUBMIT_ROUTE.path, { name: "submit", method: SUBMIT_ROUTE.method }],
  [CHECK_ROUTE.path, { name: "check", method: CHECK_ROUTE.method }],
  [SUBMISSIONS_ROUTE.path, { name: "records", method: SUBMISSIONS_ROUTE.method }],
]);

/** A record's name is one id or one hash, so nothing else of a path can reach the service. */
const RECORD = new RegExp(
  `^${SUBMISSIONS_ROUTE.path}/(?:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|(0x[0-9a-f]{64}))$`,
  "i",
);

/**
 * Finds the route of a request.
 * @param path the path below which the relay is mounted, without a slash at the end.
 * @throws ProtocolError `NO_SUCH_PATH` or `NO_SUCH_METHOD`.
 */
export function relayRouteOf(method: string, pathname: string, path: string): RelayRoute {
  const below = pathname.startsWith(`${path}/`) ? pathname.slice(path.length) : "";
  const fixed = ROUTES.get(below);
  if (fixed) return withMethod({ name: fixed.name }, method, fixed.method);
  const [, id, hash] = RECORD.exec(below) ?? [];
  if (id) return withMethod({ name: "record", id: id.toLowerCase(), isHash: false }, method, "GET");
  if (hash) return withMethod({ name: "record", id: hash.toLowerCase(), isHash: true }, method, "GET");
  throw new ProtocolError("NO_SUCH_PATH", "the relay has no such path");
}

function withMethod(route: RelayRoute, method: string, expected: string): RelayRoute {
  if (method === expected) return route;
  throw new ProtocolError("NO_SUCH_METHOD", `this path takes ${expected} alone`);
}
