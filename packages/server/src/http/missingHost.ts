import type { IncomingMessage, ServerResponse } from "node:http";
import { describeValue, ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { isAllowedHost } from "../model/origins.js";

/**
 * Refuses HTTP/1.1 requests without `Host` (RFC 9112, 3.2). Node would answer them with an empty body, so its own check
 * is off and this hook sends the error of D21. Node would also answer an unknown `Expect` with an empty 417; the
 * service ignores the field instead, as a server may (RFC 9110, 10.1.1).
 */
export function refuseMissingHost(app: FastifyInstance): void {
  app.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    app.server.emit("request", request, response);
  });
  app.addHook("onRequest", async ({ raw }, reply) => {
    if (raw.headers.host !== undefined || raw.httpVersion !== "1.1") return;
    reply.header("connection", "close");
    throw new ProtocolError("MALFORMED_HTTP", "the request has no header `Host`");
  });
}

/** Refuses requests whose `Host` is not in the list. Without a list, every host is allowed. */
export function refuseForeignHosts(app: FastifyInstance, allowedHosts: readonly string[] | undefined): void {
  if (allowedHosts === undefined) return;
  app.addHook("onRequest", async ({ raw: { headers } }, reply) => {
    if (isAllowedHost(headers.host, allowedHosts)) return;
    reply.header("connection", "close");
    throw new ProtocolError("MALFORMED_HTTP", `the host ${describeValue(headers.host)} is not this service`);
  });
}
