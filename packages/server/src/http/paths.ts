import { ROUTES } from "@gas-waiver/protocol";

export interface RoutePattern {
  readonly method: string;
  /** A segment with a colon in front stands for any. */
  readonly path: string;
}

/** What the routes of this path take; none if there is no such path. */
export function allowedMethods(
  path: string,
  routes: readonly RoutePattern[] = Object.values(ROUTES),
): string[] {
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

/** The path without its query, which may hold what is not ours to repeat. */
export function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? url;
}
