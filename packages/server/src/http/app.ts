import { type Health, ROUTES } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import type { Checker } from "../check/check.js";
import type { ReadinessProbe } from "../health/readiness.js";
import type { Intake } from "../intake/intake.js";
import type { KeyDirectory } from "../keys/directory.js";
import type { BroadcastBuffer } from "../lane/broadcastBuffer.js";
import { limitsOfService } from "../model/caller.js";
import type { Logger } from "../model/log.js";
import type { Metrics } from "../model/metrics.js";
import type { ResolvedOptions } from "../model/options.js";
import type { KeyPolicyDependencies } from "../policy/keyPolicy.js";
import type { Store } from "../store/store.js";
import { createTokenStore } from "../store/tokenStore.js";
import { createAuthenticator } from "./auth.js";
import { createBaseApp } from "./base.js";
import { registerCors } from "./cors.js";
import { BodyMemoryBudget } from "./limits/bodyMemoryBudget.js";
import { limitConnections } from "./limits/connections.js";
import { createRateLimiter } from "./limits/rateLimiter.js";
import { registerCheck } from "./routes/check.js";
import { registerDescriptions } from "./routes/descriptions.js";
import { registerHealth } from "./routes/health.js";
import { registerPolicy } from "./routes/policy.js";
import { registerReady } from "./routes/ready.js";
import { registerSubmissions } from "./routes/submissions.js";
import { registerSubmit } from "./routes/submit.js";
import { registerSocket } from "./socket/socket.js";

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
  readonly policy: KeyPolicyDependencies;
  readonly checker: Checker;
  readonly broadcastBuffer: Pick<BroadcastBuffer, "flush">;
}

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
  policy,
  checker,
  broadcastBuffer,
}: AppDependencies): FastifyInstance {
  const bodyMemory = new BodyMemoryBudget(options.maxHeldBytes, options.maxBodyBytes);
  const app = createBaseApp({
    log,
    metrics,
    maxBodyBytes: options.maxBodyBytes,
    bodyMemory,
    timeouts: options,
    routes: Object.values(ROUTES),
  });
  limitConnections(app, options, metrics);
  app.decorateRequest("caller");
  app.decorateRequest("grant");
  registerCors(app, options);
  registerHealth(app, health);
  const authenticator = createAuthenticator(options.apiKeys, limitsOfService(options), keys);
  const limiter = createRateLimiter({ tokenStore: createTokenStore(store), log });
  app.addHook("onClose", () => limiter.close());
  registerReady(app, { readiness, authenticator });
  registerDescriptions(app, { authenticator, version: health.version });
  registerSubmit(app, { intake, authenticator, limiter });
  registerSocket(app, { intake, options, authenticator, limiter, memory: bodyMemory, log, metrics });
  registerCheck(app, { checker, authenticator, limiter });
  registerPolicy(app, { authenticator, policy });
  registerSubmissions(app, { store, chainRef, authenticator, broadcastBuffer });
  return app;
}
