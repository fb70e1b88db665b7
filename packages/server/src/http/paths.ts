import { ROUTES } from "@gas-waiver/protocol";

export interface RoutePattern {
  readonly method: string;
  /** A segment that begins with a colon stands for any segment. */
  readonly path: string;
}

/** The gateway's route. It speaks JSON-RPC, and so is none of the protocol's routes. */
export const GATEWAY_ROUTE = { method: "POST", path: "/rpc/:key" } as const;
/** Its WebSocket. */
export const GATEWAY_SOCKET_ROUTE = { ...GATEWAY_ROUTE, method: "GET" } as const;

/** The paths of both. Nodes take a URL that ends with a slash, and so does the gateway. */
export const GATEWAY_PATHS: readonly string[] = [GATEWAY_ROUTE.path, `${GATEWAY_ROUTE.path}/`];

/** All routes of the public interface. */
export const PUBLIC_ROUTES: readonly RoutePattern[] = [
  ...Object.values(ROUTES),
  ...[GATEWAY_ROUTE, GATEWAY_SOCKET_ROUTE].flatMap(({ method }) =>
    GATEWAY_PATHS.map((path) => ({ method, path })),
  ),
];

/** @returns the methods of all routes with this path; none if there is no such path. */
export function allowedMethods(path: string, routes: readonly RoutePattern[] = PUBLIC_ROUTES): string[] {
  const segments = path.split("/");
  const matching = routes.filter((route) => {
    const pattern = route.path.split("/");
    return (
      pattern.length === segments.length &&
      pattern.every((part, i) => part === segments[i] || (part.startsWith(":") && segments[i] !== ""))
    );
  });
  return matching.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

/** @returns the path without its query, which may hold secrets that an answer must not repeat. */
export function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? url;
}
