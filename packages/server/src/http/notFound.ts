import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { allowedMethods, pathOf, type RoutePattern } from "./paths.js";

/** API keys in a path, such as the gateway's. Answers may be logged where keys should not be. */
const KEYS = /gwp?_\w+/g;

/**
 * Answers 404 for unknown paths, and 405 with `Allow` for methods that a path does not take.
 * @param hint the end of the message of a 404.
 */
export function refuseUnknownPaths(app: FastifyInstance, routes: readonly RoutePattern[], hint = ""): void {
  const refusal = (request: FastifyRequest, reply: FastifyReply): ProtocolError => {
    const path = pathOf(request.url);
    const methods = allowedMethods(path, routes);
    const shown = path.replace(KEYS, "…");
    if (methods.length === 0) return new ProtocolError("NO_SUCH_PATH", `there is no ${shown}${hint}`);
    reply.header("allow", methods.join(", "));
    const message = `${shown} takes ${methods.join(", ")}, not ${request.method}`;
    return new ProtocolError("NO_SUCH_METHOD", message);
  };
  app.setNotFoundHandler((request, reply) => {
    throw refusal(request, reply);
  });
  // Refuses before the body is read, so that the body takes no memory.
  app.addHook("preParsing", (request, reply, payload, done) => {
    if (request.is404) done(refusal(request, reply));
    else done(null, payload);
  });
}
