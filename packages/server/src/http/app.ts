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
import { allowOrigins } from "./cors.js";
import { BodyMemory } from "./limits/bodyMemory.js";
import { limitConnections } from "./limits/connections.js";
import { createSharedRateLimiter } from "./limits/rateLimiter.js";
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
  readonly delivered: Pick<BroadcastBuffer, "flush">;
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
  delivered,
}: AppDependencies): FastifyInstance {
  const memory = new BodyMemory(options.maxHeldBytes, options.maxBodyBytes);
  const app = createBaseApp({
    log,
    metrics,
    maxBodyBytes: options.maxBodyBytes,
    memory,
    times: options,
    routes: Object.values(ROUTES),
  });
  limitConnections(app, options, metrics);
  app.decorateRequest("caller");
  app.decorateRequest("grant");
  allowOrigins(app, options);
  registerHealth(app, health);
  const authenticator = createAuthenticator(options.apiKeys, limitsOfService(options), keys);
  const limiter = createSharedRateLimiter({ bank: createTokenStore(store), log });
  app.addHook("onClose", () => limiter.close());
  registerReady(app, { readiness, authenticator });
  registerDescriptions(app, { authenticator, version: health.version });
  registerSubmit(app, { intake, authenticator, limiter });
  registerSocket(app, { intake, options, authenticator, limiter, memory, log, metrics });
  registerCheck(app, { checker, authenticator, limiter });
  registerPolicy(app, { authenticator, policy });
  registerSubmissions(app, { store, chainRef, authenticator, delivered });
  return app;
}
