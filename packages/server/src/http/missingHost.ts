import type { IncomingMessage, ServerResponse } from "node:http";
import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";

/**
 * Answers by ourselves what Node would answer without a body (D21); it must not ask for `Host` by itself. A request without `Host` is refused (RFC 9112, 3.2). An
 * expectation that nobody knows is left out of account, which a server is free to do (RFC 9110, 10.1.1).
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
