import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { CLOSE_CODES, ProtocolError, ROUTES, SOCKET_PROTOCOL } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { WebSocketServer } from "ws";
import type { Grant } from "../../keys/cachedKey.js";
import { type Caller, partyOf } from "../../model/keys/caller.js";
import { addressGroup, addressSite } from "../../model/options/networkAddress.js";
import { isAllowedHost } from "../../model/options/origins.js";
import { PRICES } from "../../model/prices.js";
import { shuttingDown } from "../../model/shuttingDown.js";
import { within } from "../../util/within.js";
import type { Authenticator } from "../authenticator.js";
import type { ClientAddress } from "../clientAddress.js";
import { GatewayConnection, type GatewayConnectionDependencies } from "../gateway/gatewayConnection.js";
import type { BodyMemoryBudget } from "../limits/bodyMemoryBudget.js";
import type { OpenConnections } from "../limits/connections.js";
import { GATEWAY_ROUTE } from "../paths.js";
import { headFault } from "../requestHost.js";
import type { SocketConnection } from "./connection.js";
import { declineUpgrade } from "./declineUpgrade.js";
import { FrameGuard } from "./frameGuard.js";
import { SocketLimits, type SocketOwner } from "./limits.js";
import { SubmitConnection, type SubmitDependencies } from "./submitConnection.js";

export interface SocketServices extends SubmitDependencies, GatewayConnectionDependencies {
  readonly authenticator: Authenticator;
  readonly bodyMemory: BodyMemoryBudget;
  readonly connections: Pick<OpenConnections, "keep">;
  readonly clientAddress: ClientAddress;
  /** The server of the port, which serves a declined upgrade anew. */
  readonly server: Server;
}

/** Clients have this long to read their last lines and to close. */
const CLOSE_TIMEOUT_MS = 1_000;
const SLOW_FRAME_CHECK_MS = 1_000;
/** Limits of the `ws` library for unfinished messages. Its types do not declare them. */
export const MESSAGE_LIMITS = {
  // A client that sends 32 MiB in fragments of 16 KiB sends 2,048.
  maxFragments: 4_096,
  // The smallest packets of usual networks carry some 500 bytes, which makes 32 MiB fit.
  maxBufferedChunks: 65_536,
};

/**
 * Accepts WebSockets (D23) on the port of the HTTP server. An upgrade to another protocol, or without a valid key, goes
 * on as a plain request, so that the routes answer it with their usual errors.
 */
export function acceptSockets(app: FastifyInstance, services: SocketServices): SocketAcceptor {
  const acceptor = new SocketAcceptor(services);
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    acceptor.upgrade(request, socket, head),
  );
  const pings = setInterval(() => acceptor.ping(), services.options.socketPingMs).unref();
  const slowFrames = setInterval(() => acceptor.closeSlow(), SLOW_FRAME_CHECK_MS).unref();
  app.addHook("preClose", async () => {
    clearInterval(pings);
    clearInterval(slowFrames);
    await acceptor.close();
  });
  return acceptor;
}

export class SocketAcceptor {
  readonly #services: SocketServices;
  readonly #connections = new Set<SocketConnection>();
  readonly #limits: SocketLimits;
  readonly #webSockets: WebSocketServer;
  /** Bytes that arrived behind a handshake, and its place, kept in case the handshake turns out malformed. */
  readonly #begun = new WeakMap<IncomingMessage, { readonly head: Buffer; readonly leave: () => void }>();
  /** Why connections got no place. */
  readonly #refused = new WeakMap<Duplex, ProtocolError>();
  #isClosing = false;

  constructor(services: SocketServices) {
    this.#services = services;
    this.#limits = new SocketLimits(services.options, services.metrics);
    this.#webSockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      autoPong: false,
      // D32: a subprotocol with a key is never chosen. The library would choose the client's first one.
      handleProtocols: (offered) => offered.has(SOCKET_PROTOCOL) && SOCKET_PROTOCOL,
      maxPayload: services.options.maxBodyBytes,
      ...MESSAGE_LIMITS,
    });
    // The library found the handshake malformed. The route answers with the error.
    this.#webSockets.on("wsClientError", (_error, socket, request) => {
      const { head = Buffer.alloc(0), leave } = this.#begun.get(request) ?? {};
      leave?.();
      declineUpgrade(services.server, request, socket, head);
    });
  }

  /** @throws {@link ProtocolError} `SHUTTING_DOWN` or `SOCKETS_AT_CAPACITY` if that is why this request has opened no WebSocket. */
  assertRoom({ socket }: IncomingMessage): void {
    if (this.#isClosing) throw shuttingDown();
    const refusal = this.#refused.get(socket);
    if (refusal) throw refusal;
  }

  #ownerOf({ keyId, publishable }: Caller, request: IncomingMessage): SocketOwner {
    const address = this.#services.clientAddress(request);
    const place = { address: addressGroup(address), site: addressSite(address) };
    return { keyId, ...place, isPublishable: publishable !== undefined };
  }

  /** Opens a WebSocket when it is the turn of its party. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { loop, server } = this.#services;
    const grant = this.#grantOf(request);
    if (grant === undefined) {
      declineUpgrade(server, request, socket, head);
      return;
    }
    let leave = () => {};
    // Node has taken its own listener for errors away.
    socket.on("error", () => {});
    socket.once("close", () => leave());
    leave = loop.enter(partyOf(grant.caller), PRICES.upgrade, () => this.#open(request, socket, head));
  }

  #open(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const grant = this.#grantOf(request);
    let connection: SocketConnection | undefined;
    const leave = grant && this.#enter(request, socket, grant, () => connection);
    if (grant === undefined || leave === undefined) {
      declineUpgrade(this.#services.server, request, socket, head);
      return;
    }
    this.#services.connections.keep(socket, grant);
    this.#begun.set(request, { head, leave });
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const { bodyMemory, options } = this.#services;
      const { bodyTimeoutMs } = options;
      const guard = new FrameGuard(socket, webSocket, { bodyMemory, owner: grant.caller, bodyTimeoutMs });
      const accepted = { socket: webSocket, raw: socket, grant, guard };
      const opened = isGatewayPath(request)
        ? new GatewayConnection(accepted, this.#services)
        : new SubmitConnection(accepted, this.#services);
      connection = opened;
      this.#connections.add(opened);
      webSocket.on("close", () => this.#connections.delete(opened));
    });
  }

  /** Takes a place among the WebSockets. @returns a function to leave it; undefined if there is none. */
  #enter(
    request: IncomingMessage,
    socket: Duplex,
    { caller }: Grant,
    opened: () => SocketConnection | undefined,
  ) {
    try {
      const close = () => opened()?.close(CLOSE_CODES.tryAgainLater, "other clients need the place");
      const leave = this.#limits.enter(
        this.#ownerOf(caller, request),
        close,
        () => opened()?.isIdle ?? false,
      );
      socket.once("close", leave);
      return leave;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#refused.set(socket, error);
      return undefined;
    }
  }

  /** Pings all clients, and drops those that have shown no sign of life since the last call. */
  ping(): void {
    for (const connection of this.#connections) connection.ping();
  }

  /** Closes the connections on which a frame takes too long to arrive. */
  closeSlow(): void {
    const now = performance.now();
    for (const connection of this.#connections) connection.guard.closeIfSlow(now);
  }

  /** Closes each connection with 1012 when its lines are sent, and cuts off those that take too long. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const closing = [...this.#connections].map(async (connection) => {
      await connection.drained();
      connection.close(CLOSE_CODES.serviceRestart, "the service is shutting down");
      await connection.closed;
    });
    await within(CLOSE_TIMEOUT_MS, Promise.all(closing)).catch(() => {});
    for (const connection of this.#connections) connection.terminate();
  }

  /** @returns undefined if the request may open no WebSocket. The route answers why. */
  #grantOf(request: IncomingMessage): Grant | undefined {
    const isServed =
      isSocketRequest(request) &&
      headFault(request) === undefined &&
      isAllowedHost(request.headers.host, this.#services.options.allowedHosts);
    if (!isServed || this.#isClosing) return undefined;
    try {
      return this.#services.authenticator.authenticate(request);
    } catch (error) {
      if (error instanceof ProtocolError) return undefined;
      throw error;
    }
  }
}

/** The path of the gateway, behind which stands the key. */
const GATEWAY_PATH = GATEWAY_ROUTE.path.replace(":key", "");

function isGatewayPath({ url = "" }: IncomingMessage): boolean {
  return url.startsWith(GATEWAY_PATH);
}

/** Tells whether a request asks for a WebSocket, of D23 or of the gateway. A handshake has no body: on Node 26 its socket would come without it. */
export function isSocketRequest(request: IncomingMessage): boolean {
  const { method, url = "", headers } = request;
  const { path } = ROUTES.socket;
  const isPath = url === path || url.startsWith(`${path}?`) || isGatewayPath(request);
  const isWebSocket = headers.upgrade?.toLowerCase() === "websocket";
  const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
  // D23: version 13 alone. The library would take version 8 as well.
  const isVersion = headers["sec-websocket-version"] === "13";
  return method === ROUTES.socket.method && isPath && isWebSocket && isVersion && !hasBody;
}
