import { ProtocolError } from "@gas-waiver/protocol";
import { type FastifyInstance, fastify } from "fastify";
import type { Logger } from "../log.js";
import type { Metrics } from "../metrics.js";
import { answerBrokenRequest, createErrorHandler } from "./errors.js";
import { methodsOf, pathOf, type Route } from "./paths.js";
import { closeSilentConnections } from "./silentConnections.js";

export interface BaseAppOptions {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "refused">;
  readonly maxBodyBytes: number;
  /** What there is, for who asks for something else. */
  readonly routes: readonly Route[];
}

/** A head that takes longer than this, or a whole request (a slow 32 MiB body), is cut off. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** How often Node looks for such; by itself every 30 seconds, so that 10 could become 40. */
const LOOK_FOR_SLOW_MS = 1_000;

/** A listener of the service without its routes: every failure is the document's error (D21). */
export function createBaseApp({ log, metrics, maxBodyBytes, routes }: BaseAppOptions): FastifyInstance {
  const answerError = createErrorHandler(log, maxBodyBytes, metrics);
  const app = fastify({
    bodyLimit: maxBodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Keep-alive connections do not hold up the end: requests under way are answered, idle ones are closed.
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: LOOK_FOR_SLOW_MS },
    clientErrorHandler: answerBrokenRequest,
    // A URL that is none reaches no route, and so no error handler.
    frameworkErrors: (error, request, reply) => answerError(error, request, reply),
  });
  // D21: the framework would also take plain text as a body.
  app.removeContentTypeParser("text/plain");
  closeSilentConnections(app);
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request.url);
    const methods = methodsOf(path, routes);
    if (methods.length === 0) throw new ProtocolError("NO_SUCH_PATH", `there is no ${path}`);
    reply.header("allow", methods.join(", "));
    throw new ProtocolError("NO_SUCH_METHOD", `${path} takes ${methods.join(", ")}, not ${request.method}`);
  });
  return app;
}
