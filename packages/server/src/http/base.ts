import type { IncomingMessage, ServerResponse } from "node:http";
import { type FastifyInstance, fastify } from "fastify";
import { DEFAULTS } from "../model/options/defaults.js";
import { addressGroup } from "../model/options/networkAddress.js";
import type { TlsCertificate } from "../model/options/tlsCertificate.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Metrics } from "../model/telemetry/metrics.js";
import { registerJsonParser } from "./body/jsonBody.js";
import { connectionAddress } from "./clientAddress.js";
import { answerMalformedRequest, createErrorHandler } from "./errors.js";
import type { BodyMemoryBudget } from "./limits/bodyMemoryBudget.js";
import { PartyTurns } from "./limits/partyTurns.js";
import { type RequestParty, RequestTurns } from "./limits/requestTurns.js";
import { closeUnusedConnections } from "./limits/unusedConnections.js";
import { refuseUnknownPaths } from "./notFound.js";
import type { RoutePattern } from "./paths.js";
import { followTlsConnections, serverOptions } from "./port/tls.js";
import { refuseUnclearHost, useTargetHost } from "./requestHost.js";

export interface BaseAppOptions {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "refused">;
  readonly maxBodyBytes: number;
  /** Bounds the bodies of all callers together. Without it only `maxBodyBytes` bounds a body. */
  readonly bodyMemory?: BodyMemoryBudget;
  readonly timeouts?: RequestTimeouts;
  /** Serves HTTPS with this certificate, and not HTTP. */
  readonly tls?: TlsCertificate | undefined;
  /** Decides which party's request begins next. */
  readonly parties?: PartyTurns;
  /** Names the party that a request counts for. By default, and without a name, the address at the other end of its connection. */
  readonly partyOf?: (request: IncomingMessage) => RequestParty | undefined;
  /**
   * Tells which requests may leave HTTP for another protocol. Newer Nodes serve all others as if they had not asked; older
   * ones announce each of them as an upgrade. By default, none may.
   */
  readonly isUpgrade?: (request: IncomingMessage) => boolean;
  /** Aborted when the service begins to shut down: each connection ends with its next answer from then on. */
  readonly leaving?: AbortSignal;
  /** The routes that the 404 and 405 answers know of. */
  readonly routes: readonly RoutePattern[];
  /** The end of the message of a 404. */
  readonly hint?: string;
  /** True if another app has the port and passes requests on, in their turns. Then `tls` and `parties` are that app's. */
  readonly isBehindPort?: boolean;
  /** Passes requests on to other apps, when it is their turn. @returns false for a request that is this app's own. */
  readonly serveElsewhere?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface RequestTimeouts {
  /** The time in which the request line and the header fields must arrive. */
  readonly headTimeoutMs: number;
  /** The time in which a whole request must arrive, such as a slow 32 MiB body. */
  readonly bodyTimeoutMs: number;
  /** The longest wait for a response. */
  readonly requestTimeoutMs: number;
}

const DEFAULT_TIMEOUTS: RequestTimeouts = {
  headTimeoutMs: DEFAULTS.headTimeoutMs,
  bodyTimeoutMs: DEFAULTS.bodyTimeoutMs,
  requestTimeoutMs: DEFAULTS.requestTimeoutMs,
};

/** All header fields together, and so the length of a path: Node's default. */
export const MAX_HEAD_BYTES = 16_384;
/** Node's default is 30 seconds, which would turn a time-out of 10 seconds into 40. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** A client that reads nothing for this long, beyond the longest wait for a response, is disconnected. */
export const STALLED_CLIENT_MS = 90_000;

/** Builds a listener without routes. It answers every failure in the one shape of errors (D21). */
export function createBaseApp(options: BaseAppOptions): FastifyInstance {
  const {
    log,
    metrics,
    maxBodyBytes,
    bodyMemory,
    routes,
    tls,
    timeouts = DEFAULT_TIMEOUTS,
    parties = new PartyTurns(),
    partyOf = () => undefined,
    isUpgrade,
    leaving,
    hint,
    isBehindPort = false,
    serveElsewhere,
  } = options;
  const { headTimeoutMs, bodyTimeoutMs, requestTimeoutMs } = timeouts;
  const handleError = createErrorHandler(log, metrics);
  const app = fastify({
    bodyLimit: maxBodyBytes,
    requestTimeout: bodyTimeoutMs,
    connectionTimeout: STALLED_CLIENT_MS + requestTimeoutMs,
    // `close` answers the requests in flight and closes idle keep-alive connections at once.
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // An id in a path may have any length. The route refuses a malformed one.
    routerOptions: { maxParamLength: MAX_HEAD_BYTES },
    ...serverOptions(
      {
        requireHostHeader: false,
        headersTimeout: headTimeoutMs,
        connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_INTERVAL_MS, headTimeoutMs),
        ...(isUpgrade && { shouldUpgradeCallback: isUpgrade }),
      },
      tls,
    ),
    clientErrorHandler: (error, socket) => answerMalformedRequest(error, socket, turns),
    // A malformed URL reaches no route, and so not the error handler either.
    frameworkErrors: (error, request, reply) => handleError(error, request, reply),
  });
  if (serveElsewhere) passOnRequests(app, serveElsewhere);
  const turns = isBehindPort
    ? undefined
    : new RequestTurns(app.server, parties, (request) => partyOf(request) ?? partyByAddress(request));
  followTlsConnections(app.server);
  if (leaving) endConnections(app, leaving);
  // Before the turns, which go by the path.
  app.server.prependListener("request", useTargetHost);
  refuseUnclearHost(app);
  registerJsonParser(app, { maxBodyBytes, memory: bodyMemory });
  closeUnusedConnections(app);
  app.setErrorHandler(handleError);
  refuseUnknownPaths(app, routes, hint);
  return app;
}

/** Gives requests to other apps before this one's own routes. */
function passOnRequests(
  app: FastifyInstance,
  serveElsewhere: NonNullable<BaseAppOptions["serveElsewhere"]>,
): void {
  const listeners = app.server.listeners("request");
  app.server.removeAllListeners("request");
  app.server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (serveElsewhere(request, response)) return;
    for (const listener of listeners) listener.call(app.server, request, response);
  });
}

/** Has clients and proxies open new connections while the service shuts down. Those can lead to another replica. */
function endConnections(app: FastifyInstance, leaving: AbortSignal): void {
  app.addHook("onRequest", async (_request, reply) => {
    if (leaving.aborted) reply.header("connection", "close");
  });
}

function partyByAddress(request: IncomingMessage): RequestParty {
  return { name: `address ${addressGroup(connectionAddress(request))}`, hasKey: false };
}
