import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { allowedMethods, pathOf, type RoutePattern } from "./paths.js";

/** Answers 404 for unknown paths, and 405 with `Allow` for methods that a path does not take. */
export function refuseUnknownPaths(app: FastifyInstance, routes: readonly RoutePattern[]): void {
  const refusal = (request: FastifyRequest, reply: FastifyReply): ProtocolError => {
    const path = pathOf(request.url);
    const methods = allowedMethods(path, routes);
    if (methods.length === 0) return new ProtocolError("NO_SUCH_PATH", `there is no ${path}`);
    reply.header("allow", methods.join(", "));
    const message = `${path} takes ${methods.join(", ")}, not ${request.method}`;
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
