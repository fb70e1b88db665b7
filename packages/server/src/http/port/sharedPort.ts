import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import type { TlsCertificate } from "../../model/options/tlsCertificate.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { ProcessMetrics } from "../../model/telemetry/processMetrics.js";
import { createBaseApp, type RequestTimeouts } from "../base.js";
import {
  type ConnectionLimits,
  countConnections,
  limitConnections,
  type OpenConnections,
} from "../limits/connections.js";
import { PartyTurns } from "../limits/partyTurns.js";
import type { RequestParty } from "../limits/requestTurns.js";
import type { RoutePattern } from "../paths.js";
import { hostFault, useTargetHost } from "../requestHost.js";
import { declineUpgrade } from "../socket/declineUpgrade.js";
import { cutPrefix } from "./networkPrefix.js";

/** The port of several networks, as the app of one of them sees it. */
export interface SharedPort {
  /** The server of all connections. */
  readonly server: Server;
  readonly connections: OpenConnections;
  readonly parties: PartyTurns;
}

/** The app of a network, behind a shared port. */
export interface NetworkApp {
  readonly app: FastifyInstance;
  /** Names the party that a request counts for. By default, the address at the other end of its connection. */
  readonly partyOf?: (request: IncomingMessage) => RequestParty;
  /** Tells which requests may become WebSockets. By default, none may. */
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

export interface SharedPortOptions {
  readonly places: readonly NetworkPlace[];
  readonly log: Logger;
  readonly metrics: ProcessMetrics;
  readonly limits: ConnectionLimits;
  readonly timeouts?: RequestTimeouts;
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

/**
 * Opens a port for several networks. Connections, their limits and turns are of the port. A request goes to the network of its
 * path's prefix, else to that of its host, else to the one at `/`, and the network's app serves it as if it had come to a
 * port of its own. The port itself answers what is for no network, or for one that does not run.
 */
export function createSharedPort(options: SharedPortOptions): { app: FastifyInstance; port: SharedPort } {
  const { places, log, metrics, limits, timeouts, tls, leaving, routes = [] } = options;
  const findPlace = createPlaceFinder(places);
  const parties = new PartyTurns();
  const app = createBaseApp({
    log,
    metrics: { refused: () => {} },
    maxBodyBytes: MAX_BODY_BYTES,
    routes,
    hint: hintOf(places),
    ...(timeouts && { timeouts }),
    tls,
    parties,
    partyOf: (request) => findPlace(request)?.app()?.partyOf?.(request),
    isUpgrade: (request) => findPlace(request)?.app()?.isUpgrade?.(request) ?? false,
    serveElsewhere: (request, response) => {
      const network = findPlace(request)?.app();
      return network?.app.server.emit("request", request, response) ?? false;
    },
    ...(leaving && { leaving }),
  });
  const connections = limitConnections(app, limits, metrics);
  if (options.isCounted) {
    countConnections(app, metrics);
    metrics.countWaitingRequests(() => parties.waiting);
  }
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const network = findPlace(request)?.app();
    if (network?.isUpgrade) network.app.server.emit("upgrade", request, socket, head);
    else declineUpgrade(app.server, request, socket, head);
  });
  app.addHook("onRequest", async ({ raw }) => {
    const place = findPlace(raw);
    if (place === undefined) return;
    throw new ProtocolError(
      "CHAIN_UNAVAILABLE",
      `the network ${place.name} does not run at the moment; nothing was accepted`,
    );
  });
  return { app, port: { server: app.server, connections, parties } };
}

function hintOf(places: readonly NetworkPlace[]): string {
  const paths = places.flatMap(({ path }) => path ?? []);
  return paths.length === 0 ? "" : `; this service has networks at ${paths.join(", ")}`;
}

type FindPlace = (request: IncomingMessage) => NetworkPlace | undefined;

/** Finds the network of each request once, and cuts its prefix off the path. */
function createPlaceFinder(places: readonly NetworkPlace[]): FindPlace {
  const found = new WeakMap<IncomingMessage, NetworkPlace>();
  // The longest prefix fits first.
  const byPrefix = places
    .flatMap((place) =>
      place.path === undefined || place.path === "/" ? [] : [{ place, prefix: place.path }],
    )
    .sort((a, b) => b.prefix.length - a.prefix.length);
  const byHost = new Map(places.flatMap((place) => place.hosts.map((host) => [host, place] as const)));
  const root = places.find(({ path }) => path === "/");
  return (request) => {
    const known = found.get(request);
    if (known) return known;
    // The port itself answers these.
    if (hostFault(request) !== undefined) return undefined;
    useTargetHost(request);
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
