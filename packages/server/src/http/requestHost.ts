import type { IncomingMessage } from "node:http";
import { describeValue, ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { isLoopbackHost } from "../model/options/networkAddress.js";
import { isAllowedHost, LOOPBACK_ORIGINS } from "../model/options/origins.js";

/** A request target in absolute-form, as clients send it to proxies: the authority, then the path and the query. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i;

/** An escape that a path needs for no character: of a letter, a digit, or one of `-._~`. */
const NEEDLESS_ESCAPE = /%(?:2[de]|3\d|[46][1-9a-f]|[57][0-9a]|5f|7e)/gi;

/** Gives a request the one form of its target, which routes, limits and the prefixes of networks go by (RFC 3986, 6.2.2.2). */
export function normalizeTarget(request: IncomingMessage): void {
  useTargetHost(request);
  const [path = "", ...query] = (request.url ?? "").split("?");
  if (path.includes("%"))
    request.url = [path.replace(NEEDLESS_ESCAPE, decodeURIComponent), ...query].join("?");
}

/**
 * Gives a request whose target is a whole URL the `Host` and the path of that URL. The service must ignore the `Host` that came
 * with it (RFC 9112, 3.2.2). A request that {@link headFault} refuses stays as it is.
 */
function useTargetHost(request: IncomingMessage): void {
  const { url = "", headers, rawHeaders } = request;
  if (url.startsWith("/")) return;
  const [, authority, rest = ""] = ABSOLUTE_FORM.exec(url) ?? [];
  if (authority === undefined || headFault(request) !== undefined) return;
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
  headers.host = authority;
  const [line = rawHeaders.length] = linesOf(request, "host");
  // An upgrade that is declined is read again from these.
  rawHeaders.splice(line, 2, "Host", authority);
}

/**
 * Tells why a request is refused for its `Host` (RFC 9112, 3.2) or `Authorization`; undefined if it is not. Of several lines Node
 * shows the first one alone, and a proxy may have gone by another.
 */
export function headFault(request: IncomingMessage): string | undefined {
  const hosts = linesOf(request, "host").length;
  if (hosts > 1) return "the request has more than one header `Host`";
  if (hosts === 0 && request.httpVersion === "1.1") return "the request has no header `Host`";
  const isUnclear = linesOf(request, "authorization").length > 1;
  return isUnclear ? "the request has more than one header `Authorization`" : undefined;
}

/** Returns the places of all names in `rawHeaders` that are this one. */
function linesOf({ rawHeaders }: IncomingMessage, name: string): number[] {
  const lines: number[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === name) lines.push(i);
  }
  return lines;
}

/**
 * Refuses requests without a clear `Host` or key. Node would answer those without a `Host` with an empty body, so its own check is
 * off and this hook sends the error of D21.
 */
export function refuseUnclearHead(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ raw }, reply) => {
    const fault = headFault(raw);
    if (fault === undefined) return;
    reply.header("connection", "close");
    throw new ProtocolError("MALFORMED_HTTP", fault);
  });
}

/**
 * Refuses requests whose `Host` is not in the list. Without a list, every host is allowed, except over loopback on a port of operators:
 * there a page in an operator's browser, whose name leads to this machine by DNS rebinding, could read without a key. The public port
 * wants a key, and proxies on the same machine pass the service's name on to it.
 */
export function refuseForeignHosts(
  app: FastifyInstance,
  allowedHosts: readonly string[] | undefined,
  isForOperators: boolean,
): void {
  if (allowedHosts === undefined && !isForOperators) return;
  app.addHook("onRequest", async ({ raw: { headers, socket } }, reply) => {
    const isLoopback = isLoopbackHost(socket.localAddress ?? "");
    if (isAllowedHost(headers.host, allowedHosts ?? (isLoopback ? [LOOPBACK_ORIGINS] : undefined))) return;
    reply.header("connection", "close");
    throw new ProtocolError(
      "MALFORMED_HTTP",
      `the host ${describeValue(headers.host)} is not among the allowed hosts of this service`,
    );
  });
}

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
