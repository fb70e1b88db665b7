import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyServerOptions } from "fastify";
import { addressGroup } from "../../model/options/networkAddress.js";
import { DEFAULTS } from "../../model/options/options.js";
import type { TlsCertificate } from "../../model/options/tlsCertificate.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { ProcessMetrics } from "../../model/telemetry/processMetrics.js";
import { LoopQueue } from "../../util/loopQueue.js";
import { createBaseApp } from "../base.js";
import { connectionAddress } from "../clientAddress.js";
import { answerMalformedRequest } from "../errors.js";
import { type ConnectionLimits, limitConnections, type OpenConnections } from "../limits/connections.js";
import { type RequestParty, RequestTurns } from "../limits/requestTurns.js";
import type { RoutePattern } from "../paths.js";
import { cutPrefix, headFault, normalizeTarget } from "../requestHost.js";
import { declineUpgrade } from "../socket/declineUpgrade.js";
import { answerHalfClosed } from "./halfClosed.js";
import { followTlsConnections, serverOptions } from "./tls.js";

/** A port, as the app of one of its networks sees it. */
export interface Port {
  /** The server of all connections. */
  readonly server: Server;
  readonly connections: OpenConnections;
  /** The queue for the event loop of the process. */
  readonly loop: LoopQueue;
}

/** The app of a network, behind a port. */
export interface NetworkApp {
  readonly app: FastifyInstance;
  /** Names the party that a request counts for. By default, the address at the other end of its connection. */
  readonly partyOf?: (request: IncomingMessage) => RequestParty;
  /**
   * Tells which requests may become WebSockets. Newer Nodes serve all others as if they had not asked; older ones announce each of
   * them as an upgrade. By default, none may.
   */
  readonly isUpgrade?: (request: IncomingMessage) => boolean;
}

/** A network among those of a port. */
export interface NetworkPlace {
  readonly name: string;
  /** The beginning of its paths, such as `/mainnet`; `/` for all paths that are of no other network. Undefined if only hosts lead to it. */
  readonly path: string | undefined;
  /** The names in `Host` that lead to it, in lower case and without a port. */
  readonly hosts: readonly string[];
  /** Returns the app that serves it; undefined while the network does not run. */
  app(): NetworkApp | undefined;
}

export interface RequestTimeouts {
  /** The time in which the request line and the header fields must arrive. */
  readonly headTimeoutMs: number;
  /** The time in which a whole request must arrive, such as a slow 32 MiB body. */
  readonly bodyTimeoutMs: number;
  /** The longest wait for a response. */
  readonly requestTimeoutMs: number;
}

export interface PortOptions {
  readonly places: readonly NetworkPlace[];
  readonly log: Logger;
  /** The names that the port itself answers to; any by default. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** A port of operators answers over loopback to local names alone, unless `allowedHosts` names others. */
  readonly isForOperators?: boolean;
  readonly metrics: ProcessMetrics;
  /** By default, one of its own. */
  readonly loop?: LoopQueue;
  readonly limits: ConnectionLimits;
  /** By default, those of the public port without options. */
  readonly timeouts?: RequestTimeouts;
  /** Serves HTTPS with this certificate, and not HTTP. */
  readonly tls?: TlsCertificate | undefined;
  /** Aborted when the service begins to shut down. */
  readonly leaving?: AbortSignal;
  /** Counts the connections and waiting requests of this port in the metrics. */
  readonly isCounted?: boolean;
  /** The routes of the port itself, for the answers 404 and 405. */
  readonly routes?: readonly RoutePattern[];
}

/** Nobody sends a body to the port itself. */
const MAX_BODY_BYTES = 1_024;
/** Node's default is 30 seconds, which would turn a time-out of 10 seconds into 40. */
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** A client that reads nothing for this long, beyond the longest wait for a response, is disconnected. */
export const STALLED_CLIENT_MS = 90_000;

/**
 * Opens a port for the networks of a service. Connections, their limits and turns are of the port. A request goes to the
 * app of a network: by the prefix of the path, else by the host, else to the network at `/`. The port itself answers
 * requests for no network, or for a network that does not run.
 */
export function createPort(options: PortOptions): { app: FastifyInstance; port: Port } {
  const { places, log, metrics, limits, leaving, routes = [], loop = new LoopQueue() } = options;
  const findPlace = createPlaceFinder(places);
  const findApp = (request: IncomingMessage) => findPlace(request)?.app();
  const app = createBaseApp({
    ...{
      log,
      leaving,
      routes,
      allowedHosts: options.allowedHosts,
      isForOperators: options.isForOperators ?? false,
      maxBodyBytes: MAX_BODY_BYTES,
      hint: hintOf(places),
    },
    server: {
      ...listenerOptions(options, (request) => findApp(request)?.isUpgrade?.(request) ?? false),
      clientErrorHandler: (error, socket) => answerMalformedRequest(error, socket, turns),
    },
  });
  const { server } = app;
  passOnRequests(server, findApp);
  answerHalfClosed(server);
  const partyOf = (request: IncomingMessage) =>
    findApp(request)?.partyOf?.(request) ?? partyByAddress(request);
  const turns = new RequestTurns(server, loop, partyOf);
  followTlsConnections(server);
  // Before the turns, which go by the path.
  server.prependListener("request", normalizeTarget);
  ignoreExpectations(server);
  // Node would drop all behind the thousandth, which may be the length of a body, or what a proxy has added.
  server.maxHeadersCount = 0;
  const connections = limitConnections(app, limits, metrics);
  if (options.isCounted) {
    metrics.countConnections(() => connections.size);
    metrics.countWaitingRequests(() => loop.waiting);
  }
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const network = findApp(request);
    if (network?.isUpgrade) network.app.server.emit("upgrade", request, socket, head);
    else declineUpgrade(server, request, socket, head);
  });
  app.addHook("onRequest", async ({ raw }) => {
    const place = findPlace(raw);
    if (place === undefined) return;
    throw new ProtocolError(
      "CHAIN_UNAVAILABLE",
      `the network ${place.name} does not run at the moment; nothing was accepted`,
    );
  });
  return { app, port: { server, connections, loop } };
}

function listenerOptions(
  { timeouts = DEFAULTS, tls }: Pick<PortOptions, "timeouts" | "tls">,
  isUpgrade: (request: IncomingMessage) => boolean,
): FastifyServerOptions {
  const { headTimeoutMs, bodyTimeoutMs, requestTimeoutMs } = timeouts;
  return {
    requestTimeout: bodyTimeoutMs,
    connectionTimeout: STALLED_CLIENT_MS + requestTimeoutMs,
    ...serverOptions(
      {
        requireHostHeader: false,
        headersTimeout: headTimeoutMs,
        connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_INTERVAL_MS, headTimeoutMs),
        ...{ shouldUpgradeCallback: isUpgrade },
      },
      tls,
    ),
  };
}

/** Gives requests to the apps of networks before the port's own routes. */
function passOnRequests(server: Server, findApp: (request: IncomingMessage) => NetworkApp | undefined): void {
  const listeners = server.listeners("request");
  server.removeAllListeners("request");
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const network = findApp(request);
    if (network) network.app.server.emit("request", request, response);
    else for (const listener of listeners) listener.call(server, request, response);
  });
}

/** Node would answer an unknown `Expect` with an empty 417. The service ignores the field, as a server may (RFC 9110, 10.1.1). */
function ignoreExpectations(server: Server): void {
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response);
  });
}

function partyByAddress(request: IncomingMessage): RequestParty {
  return { name: `address ${addressGroup(connectionAddress(request))}` };
}

function hintOf(places: readonly NetworkPlace[]): string {
  const paths = places.flatMap(({ path }) => path ?? []);
  return paths.length === 0 ? "" : `; this service has networks at ${paths.join(", ")}`;
}

type FindPlace = (request: IncomingMessage) => NetworkPlace | undefined;

/** Finds the network of each request once, and cuts its prefix off the path. */
function createPlaceFinder(places: readonly NetworkPlace[]): FindPlace {
  const root = places.find(({ path }) => path === "/");
  if (places.length === 1 && root) return () => root;
  const found = new WeakMap<IncomingMessage, NetworkPlace>();
  // The longest prefix fits first.
  const byPrefix = places
    .flatMap((place) =>
      place.path === undefined || place.path === "/" ? [] : [{ place, prefix: place.path }],
    )
    .sort((a, b) => b.prefix.length - a.prefix.length);
  const byHost = new Map(places.flatMap((place) => place.hosts.map((host) => [host, place] as const)));
  return (request) => {
    const known = found.get(request);
    if (known) return known;
    // The port itself answers these.
    if (headFault(request) !== undefined) return undefined;
    normalizeTarget(request);
    const { url = "" } = request;
    const prefixed = byPrefix.find(
      ({ prefix }) => url.startsWith(prefix) && ["/", "?", ""].includes(url.charAt(prefix.length)),
    );
    if (prefixed) cutPrefix(request, prefixed.prefix);
    const place = prefixed?.place ?? byHost.get(hostOf(request)) ?? root;
    if (place) found.set(request, place);
    return place;
  };
}

/** Returns the name in `Host` in lower case, without the port. */
function hostOf({ headers }: IncomingMessage): string {
  return (headers.host ?? "").toLowerCase().replace(/:\d*$/, "");
}
