import { ProtocolError } from "@gas-waiver/protocol";
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
} from "fastify";
import type { Logger } from "../model/telemetry/log.js";
import type { Metrics } from "../model/telemetry/metrics.js";
import { LoopQueue } from "../util/loopQueue.js";
import { registerJsonParser } from "./body/jsonBody.js";
import { createErrorHandler } from "./errors.js";
import type { BodyMemoryBudget } from "./limits/bodyMemoryBudget.js";
import { allowedMethods, pathOf, type RoutePattern } from "./paths.js";
import { refuseForeignHosts, refuseUnclearHead } from "./requestHost.js";

interface BaseAppOptions {
  readonly log: Logger;
  /** Counts the refusals. By default, nothing does. */
  readonly metrics?: Pick<Metrics, "refused">;
  /** The names that it answers to; any by default, but for the ports of operators over loopback. */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly isForOperators?: boolean;
  readonly maxBodyBytes: number;
  /** Bounds the bodies of all callers together. Without it only `maxBodyBytes` bounds a body. */
  readonly bodyMemory?: BodyMemoryBudget;
  /** The queue for the event loop of the process. By default, one of its own. */
  readonly loop?: LoopQueue;
  /** Aborted when the service begins to shut down: each connection ends with its next answer from then on. */
  readonly leaving?: AbortSignal | undefined;
  /** The routes that the 404 and 405 answers know of. */
  readonly routes: readonly RoutePattern[];
  /** The end of the message of a 404. */
  readonly hint?: string;
  /** The options of the server of an app that listens. */
  readonly server?: FastifyServerOptions;
}

/** All header fields together, and so the length of a path: Node's default. */
export const MAX_HEAD_BYTES = 16_384;

const noSchemas = (): never => {
  throw new Error("no route has a schema");
};
/** Without these, Fastify loads its compilers of schemas: more than a twentieth of the time to start a program. */
const WITHOUT_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

/** Builds an app without routes. It answers every failure in the one shape of errors (D21). */
export function createBaseApp(options: BaseAppOptions): FastifyInstance {
  const { log, metrics = { refused: () => {} }, maxBodyBytes, bodyMemory, leaving, server } = options;
  const { loop = new LoopQueue() } = options;
  const handleError = createErrorHandler(log, metrics);
  const app = fastify({
    ...server,
    schemaController: WITHOUT_SCHEMAS,
    bodyLimit: maxBodyBytes,
    // `close` answers the requests in flight and closes idle keep-alive connections at once.
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // An id in a path may have any length. The route refuses a malformed one.
    routerOptions: { maxParamLength: MAX_HEAD_BYTES },
    // A malformed URL reaches no route, and so not the error handler either.
    frameworkErrors: (error, request, reply) => handleError(error, request, reply),
  });
  if (leaving) endConnections(app, leaving);
  refuseUnclearHead(app);
  refuseForeignHosts(app, options.allowedHosts, options.isForOperators ?? false);
  registerJsonParser(app, { maxBodyBytes, memory: bodyMemory, loop });
  app.setErrorHandler(handleError);
  refuseUnknownPaths(app, options.routes, options.hint);
  return app;
}

/** Has clients and proxies open new connections while the service shuts down. Those can lead to another replica. */
function endConnections(app: FastifyInstance, leaving: AbortSignal): void {
  app.addHook("onRequest", async (_request, reply) => {
    if (leaving.aborted) reply.header("connection", "close");
  });
}

/** API keys in a path, such as the gateway's. Answers may be logged where keys should not be. */
const KEYS = /gwp?_\w+/g;

/**
 * Answers 404 for unknown paths, and 405 with `Allow` for methods that a path does not take.
 * @param hint the end of the message of a 404.
 */
function refuseUnknownPaths(app: FastifyInstance, routes: readonly RoutePattern[], hint = ""): void {
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
