import { ProtocolError } from "@gas-waiver/protocol";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Logger } from "../model/log.js";
import type { Metrics } from "../model/metrics.js";
import { DEFAULTS } from "../model/options.js";
import { registerJsonParser } from "./body/jsonBody.js";
import { PendingResponses } from "./body/pendingResponses.js";
import { answerMalformedRequest, createErrorHandler } from "./errors.js";
import type { BodyMemoryBudget } from "./limits/bodyMemoryBudget.js";
import { closeUnusedConnections } from "./limits/unusedConnections.js";
import { refuseMissingHost } from "./missingHost.js";
import { allowedMethods, pathOf, type RoutePattern } from "./paths.js";

export interface BaseAppOptions {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "refused">;
  readonly maxBodyBytes: number;
  /** Bounds the bodies of callers; without it each body is bounded by itself alone. */
  readonly bodyMemory?: BodyMemoryBudget;
  readonly timeouts?: RequestTimeouts;
  /** What there is, for who asks for something else. */
  readonly routes: readonly RoutePattern[];
}

export interface RequestTimeouts {
  /** A head that takes longer than this, or a whole request (a slow 32 MiB body), is cut off. */
  readonly headTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  /** The longest silence before an answer. */
  readonly requestTimeoutMs: number;
}

const DEFAULT_TIMEOUTS: RequestTimeouts = {
  headTimeoutMs: DEFAULTS.headTimeoutMs,
  bodyTimeoutMs: DEFAULTS.bodyTimeoutMs,
  requestTimeoutMs: DEFAULTS.requestTimeoutMs,
};

/** Of all header fields together, and so of a path: Node's default. */
export const MAX_HEAD_BYTES = 16_384;
/** How often Node looks for slow requests; by itself every 30 seconds, so that 10 could become 40. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** A client that takes nothing of its answer for so long, beyond the time it may wait for one, is cut off. */
export const STALLED_CLIENT_MS = 90_000;

/** A listener of the service without its routes: every failure is the document's error (D21). */
export function createBaseApp(options: BaseAppOptions): FastifyInstance {
  const { log, metrics, maxBodyBytes, bodyMemory, routes, timeouts = DEFAULT_TIMEOUTS } = options;
  const { headTimeoutMs, bodyTimeoutMs, requestTimeoutMs } = timeouts;
  const answerError = createErrorHandler(log, metrics);
  const answers = new PendingResponses();
  const app = fastify({
    bodyLimit: maxBodyBytes,
    requestTimeout: bodyTimeoutMs,
    connectionTimeout: STALLED_CLIENT_MS + requestTimeoutMs,
    // Keep-alive connections do not hold up the end: requests under way are answered, idle ones are closed.
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // What is no id is told so by its route, however long it is.
    routerOptions: { maxParamLength: MAX_HEAD_BYTES },
    http: {
      requireHostHeader: false,
      headersTimeout: headTimeoutMs,
      connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_INTERVAL_MS, headTimeoutMs),
    },
    clientErrorHandler: (error, socket) => answerMalformedRequest(error, socket, answers),
    // A URL that is none reaches no route, and so no error handler.
    frameworkErrors: (error, request, reply) => answerError(error, request, reply),
  });
  answers.track(app.server);
  refuseMissingHost(app);
  registerJsonParser(app, { maxBodyBytes, memory: bodyMemory });
  closeUnusedConnections(app);
  app.setErrorHandler(answerError);
  const notFound = (request: FastifyRequest, reply: FastifyReply): ProtocolError => {
    const path = pathOf(request.url);
    const methods = allowedMethods(path, routes);
    if (methods.length === 0) return new ProtocolError("NO_SUCH_PATH", `there is no ${path}`);
    reply.header("allow", methods.join(", "));
    const message = `${path} takes ${methods.join(", ")}, not ${request.method}`;
    return new ProtocolError("NO_SUCH_METHOD", message);
  };
  app.setNotFoundHandler((request, reply) => {
    throw notFound(request, reply);
  });
  // Before the body is looked at: where nothing is, it is not worth the memory, and it does not matter what it is.
  app.addHook("preParsing", (request, reply, payload, done) => {
    if (request.is404) done(notFound(request, reply));
    else done(null, payload);
  });
  return app;
}
