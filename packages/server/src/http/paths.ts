import { ROUTES } from "@gas-waiver/protocol";

/** What the routes of this path take; none if there is no such path. */
export function methodsOf(path: string): string[] {
  const segments = path.split("/");
  const routes = Object.values(ROUTES).filter((route) => {
    const pattern = route.path.split("/");
    return (
      pattern.length === segments.length &&
      pattern.every((part, i) => part === segments[i] || (part.startsWith(":") && segments[i] !== ""))
    );
  });
  return routes.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

/** The path without its query, which may hold what is not ours to repeat. */
export function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? url;
}
