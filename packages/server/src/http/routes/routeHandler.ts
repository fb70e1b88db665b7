import type { Health, ROUTES, RouteName } from "@gas-waiver/protocol";
import type { FastifyReply, onRequestHookHandler } from "fastify";
import type { Checker } from "../../check/check.js";
import type { ReadinessProbe } from "../../health/readiness.js";
import type { Intake } from "../../intake/intake.js";
import type { LaneSet } from "../../lane/laneSet.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import type { KeyPolicyDependencies } from "../../policy/keyPolicy.js";
import type { Refusals } from "../../results/refusals.js";
import type { RevertCauses } from "../../results/revertCauses.js";
import type { SubmissionsByHash } from "../../results/submissionsByHash.js";
import type { Store } from "../../store/store.js";
import type { LoopQueue } from "../../util/loopQueue.js";
import type { ApiRequest, AuthenticatedRequest, Authenticator } from "../authenticator.js";
import type { ClientAddress } from "../clientAddress.js";
import type { BodyMemoryBudget } from "../limits/bodyMemoryBudget.js";
import type { OpenConnections } from "../limits/connections.js";
import type { RateLimiter } from "../limits/rateLimiter.js";
import type { ReadLimiter } from "../limits/readLimiter.js";
import type { SocketAcceptor } from "../socket/socket.js";

/** The parts of a network that the handlers of the routes work with. */
export interface NetworkServices {
  readonly store: Store;
  readonly chainRef: number;
  readonly byHash: SubmissionsByHash;
  readonly intake: Intake;
  readonly checker: Checker;
  readonly policy: KeyPolicyDependencies;
  readonly readiness: ReadinessProbe;
  readonly lanes: Pick<LaneSet, "flush">;
  readonly revertCauses: Pick<RevertCauses, "settled">;
  readonly refusals: Pick<Refusals, "find">;
  readonly options: ResolvedOptions;
  readonly health: Health;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Everything that the handlers of the routes work with. Each handler picks what it needs. */
export interface RouteServices extends NetworkServices {
  readonly authenticator: Authenticator;
  readonly clientAddress: ClientAddress;
  readonly rateLimiter: RateLimiter;
  readonly readLimiter: ReadLimiter;
  readonly loop: LoopQueue;
  readonly connections: OpenConnections;
  readonly bodyMemory: BodyMemoryBudget;
  readonly sockets: Pick<SocketAcceptor, "assertRoom">;
}

/** Serves one route. The protocol package defines its method, its path, and whether it needs an API key. */
export interface RouteHandler<Request extends ApiRequest> {
  /** Refuses a request by its header fields. Runs after the authentication, before the body is read. */
  readonly onRequest?: onRequestHookHandler;
  /** Returns the answer, or sends it. Throws a `ProtocolError` to refuse the request. */
  readonly handler: (request: Request, reply: FastifyReply) => unknown;
}

export type CreateRouteHandler<Name extends RouteName> = (
  services: RouteServices,
) => RouteHandler<RequestOf<Name>>;

/** Only routes that need an API key have a caller. */
type RequestOf<Name extends RouteName> = (typeof ROUTES)[Name]["authenticated"] extends true
  ? AuthenticatedRequest
  : ApiRequest;
