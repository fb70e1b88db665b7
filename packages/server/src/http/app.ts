import { type Health, ProtocolError } from "@gas-waiver/protocol";
import { type FastifyInstance, fastify } from "fastify";
import type { Intake } from "../intake.js";
import type { Logger } from "../log.js";
import type { ResolvedOptions } from "../options.js";
import type { Store } from "../store/Store.js";
import { createAuthenticator } from "./auth.js";
import { createErrorHandler } from "./errors.js";
import { registerHealth } from "./health.js";
import { createRateLimiter } from "./limit.js";
import { registerSubmissions } from "./submissions.js";
import { registerSubmit } from "./submit.js";

export interface AppDependencies {
  readonly store: Store;
  readonly intake: Intake;
  readonly options: ResolvedOptions;
  readonly health: Health;
  readonly log: Logger;
}

/** A head that takes longer than this, or a whole request (a slow 32 MiB body), is cut off. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;

/** The HTTP side: routes, and every failure as the document's error (D21). */
export function createApp({ store, intake, options, health, log }: AppDependencies): FastifyInstance {
  const app = fastify({
    bodyLimit: options.maxBodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Keep-alive connections do not hold up the end: requests under way are answered, idle ones are closed.
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
  });
  app.decorateRequest("caller");
  app.setErrorHandler(createErrorHandler(log, options.maxBodyBytes));
  app.setNotFoundHandler((request) => {
    throw new ProtocolError("NO_SUCH_PATH", `there is no ${request.method} ${pathOf(request.url)}`);
  });
  registerHealth(app, health);
  const authenticator = createAuthenticator(options.apiKeys);
  registerSubmit(app, { intake, options, authenticator, limiter: createRateLimiter(options) });
  registerSubmissions(app, { store, authenticator });
  return app;
}

/** The path without its query, which may hold what is not ours to repeat. */
function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? url;
}
