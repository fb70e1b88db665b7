import { type Health, ROUTES } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { limitsOfService } from "../caller.js";
import type { Checker } from "../check.js";
import type { Delivered } from "../delivered.js";
import type { Intake } from "../intake.js";
import type { KeyPolicyDependencies } from "../keyPolicy.js";
import type { KeyDirectory } from "../keys/directory.js";
import type { Logger } from "../log.js";
import type { Metrics } from "../metrics.js";
import type { ResolvedOptions } from "../options.js";
import type { ReadinessProbe } from "../readiness.js";
import type { Store } from "../store/Store.js";
import { createTokenBank } from "../store/tokens.js";
import { createAuthenticator } from "./auth.js";
import { BodyMemory } from "./BodyMemory.js";
import { createBaseApp } from "./base.js";
import { registerCheck } from "./check.js";
import { limitConnections } from "./connections.js";
import { allowOrigins } from "./cors.js";
import { registerDescriptions } from "./descriptions.js";
import { registerHealth } from "./health.js";
import { registerPolicy } from "./policy.js";
import { registerReady } from "./ready.js";
import { createSharedRateLimiter } from "./sharedLimit.js";
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
  readonly policy: KeyPolicyDependencies;
  readonly checker: Checker;
  readonly delivered: Pick<Delivered, "store">;
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
  const limiter = createSharedRateLimiter({ bank: createTokenBank(store), log });
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
