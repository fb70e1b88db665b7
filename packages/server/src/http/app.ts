import { type Health, ProtocolError } from "@gas-waiver/protocol";
import { type FastifyInstance, fastify } from "fastify";
import { limitsOfService } from "../caller.js";
import type { Intake } from "../intake.js";
import type { KeyDirectory } from "../keys/directory.js";
import type { Logger } from "../log.js";
import type { Metrics } from "../metrics.js";
import type { ResolvedOptions } from "../options.js";
import type { ReadinessProbe } from "../readiness.js";
import type { Store } from "../store/Store.js";
import { createAuthenticator } from "./auth.js";
import { allowOrigins } from "./cors.js";
import { registerDescriptions } from "./descriptions.js";
import { answerBrokenRequest, createErrorHandler } from "./errors.js";
import { registerHealth } from "./health.js";
import { createRateLimiter } from "./limit.js";
import { methodsOf, pathOf } from "./paths.js";
import { registerReady } from "./ready.js";
import { closeSilentConnections } from "./silentConnections.js";
import { registerSocket } from "./socket.js";
import { registerSubmissions } from "./submissions.js";
import { registerSubmit } from "./submit.js";

export interface AppDependencies {
  readonly store: Store;
  readonly chainRef: number;
  readonly intake: Intake;
  readonly options: ResolvedOptions;
  readonly health: Health;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly readiness: ReadinessProbe;
  readonly keys: KeyDirectory;
}

/** A head that takes longer than this, or a whole request (a slow 32 MiB body), is cut off. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;

/** The HTTP side: routes, and every failure as the document's error (D21). */
export function createApp({
  store,
  chainRef,
  intake,
  options,
  health,
  log,
  metrics,
  readiness,
  keys,
}: AppDependencies): FastifyInstance {
  const answerError = createErrorHandler(log, options.maxBodyBytes, metrics);
  const app = fastify({
    bodyLimit: options.maxBodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Keep-alive connections do not hold up the end: requests under way are answered, idle ones are closed.
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    clientErrorHandler: answerBrokenRequest,
    // A URL that is none reaches no route, and so no error handler.
    frameworkErrors: (error, request, reply) => answerError(error, request, reply),
  });
  // D21: the framework would also take plain text as a body.
  app.removeContentTypeParser("text/plain");
  closeSilentConnections(app);
  app.decorateRequest("caller");
  app.decorateRequest("grant");
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request.url);
    const methods = methodsOf(path);
    if (methods.length === 0) throw new ProtocolError("NO_SUCH_PATH", `there is no ${path}`);
    reply.header("allow", methods.join(", "));
    throw new ProtocolError("NO_SUCH_METHOD", `${path} takes ${methods.join(", ")}, not ${request.method}`);
  });
  allowOrigins(app, options);
  registerHealth(app, health);
  const authenticator = createAuthenticator(options.apiKeys, limitsOfService(options), keys);
  const limiter = createRateLimiter();
  registerReady(app, { readiness, authenticator });
  registerDescriptions(app, { authenticator, version: health.version });
  registerSubmit(app, { intake, authenticator, limiter });
  registerSocket(app, { intake, options, authenticator, limiter, log, metrics });
  registerSubmissions(app, { store, chainRef, authenticator });
  return app;
}
