import type { IncomingMessage } from "node:http";

/** The prefixes that were cut off the paths of requests, on a port that several networks share. */
const prefixes = new WeakMap<IncomingMessage, string>();

/** Cuts the prefix of a network off the path of a request, so that the network's routes fit. */
export function cutPrefix(request: IncomingMessage, prefix: string): void {
  const rest = (request.url ?? "").slice(prefix.length);
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
  prefixes.set(request, prefix);
}

/** Returns the prefix that was cut off the path; empty if there was none. */
export function prefixOf(request: IncomingMessage): string {
  return prefixes.get(request) ?? "";
}
