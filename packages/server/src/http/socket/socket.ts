import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { CLOSE_CODES, ProtocolError, ROUTES } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { WebSocketServer } from "ws";
import type { Grant } from "../../keys/cachedKey.js";
import type { ResolvedOptions } from "../../model/options.js";
import { shuttingDown } from "../../model/unavailable.js";
import type { Authenticator } from "../auth.js";
import type { BodyMemoryBudget } from "../limits/bodyMemoryBudget.js";
import { SocketConnection, type SocketDependencies } from "./connection.js";
import { declineUpgrade } from "./declineUpgrade.js";
import { FrameGuard } from "./frameGuard.js";
import { type SocketLimitOptions, SocketLimits } from "./limits.js";

export interface SocketRouteDependencies extends SocketDependencies {
  readonly authenticator: Authenticator;
  readonly memory: BodyMemoryBudget;
  readonly options: SocketDependencies["options"] &
    SocketLimitOptions &
    Pick<ResolvedOptions, "socketPingMs" | "bodyTimeoutMs">;
}

/** How long a client has to read its last answers and to say goodbye. */
const GOODBYE_MS = 1_000;
/** How often the service looks for frames that take too long. */
const LOOK_FOR_SLOW_MS = 1_000;
/** What the library keeps of a frame that is not whole; its types do not know these. */
export const PIECES = {
  // A client that sends 32 MiB in pieces of 16 KiB has 2,048.
  maxFragments: 4_096,
  // Packets: the smallest that networks make carry some 500 bytes.
  maxBufferedChunks: 65_536,
};

/**
 * `GET /v1/submit` as a WebSocket (D23), on the port of everything else. An upgrade that is not for us, or without a
 * good key, goes the way of an ordinary request, so that its answer is the one of the routes.
 */
export function registerSocket(app: FastifyInstance, dependencies: SocketRouteDependencies): void {
  const { authenticator, options, memory } = dependencies;
  const connections = new Set<SocketConnection>();
  const room = new SocketLimits(options, dependencies.metrics);
  let closing = false;
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: options.maxBodyBytes,
    ...PIECES,
  });
  // What was read behind a handshake that turns out wrong.
  const heads = new WeakMap<IncomingMessage, Buffer>();
  const open = (grant: Grant, request: IncomingMessage, socket: Duplex, head: Buffer) => {
    heads.set(request, head);
    sockets.handleUpgrade(request, socket, head, (accepted) => {
      const leave = room.enter(grant.caller.keyId);
      const { bodyTimeoutMs } = options;
      const guard = new FrameGuard(socket, accepted, { memory, owner: grant.caller, bodyTimeoutMs });
      const connection = new SocketConnection(accepted, grant, guard, dependencies);
      connections.add(connection);
      accepted.on("close", () => {
        connections.delete(connection);
        leave();
      });
    });
  };
  // A handshake that is wrong; the route says so.
  sockets.on("wsClientError", (_error, socket, request) => {
    declineUpgrade(app.server, request, socket, heads.get(request) ?? Buffer.alloc(0));
  });
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const grant = isForUs(request) && !closing ? grantOf(authenticator, request) : undefined;
    const fits = grant !== undefined && room.hasRoom(grant.caller.keyId);
    if (!fits) declineUpgrade(app.server, request, socket, head);
    else open(grant, request, socket, head);
  });
  registerRoute(app, authenticator, (keyId) => {
    if (closing) throw shuttingDown();
    room.assertRoom(keyId);
  });
  const pings = setInterval(() => {
    for (const connection of connections) connection.ping();
  }, options.socketPingMs).unref();
  const looks = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.guard.closeIfSlow(now);
  }, LOOK_FOR_SLOW_MS).unref();
  app.addHook("preClose", async () => {
    closing = true;
    clearInterval(pings);
    clearInterval(looks);
    await goodbye(connections);
  });
}

/** What remains of the path without an upgrade: why there was none. */
function registerRoute(
  app: FastifyInstance,
  authenticator: Authenticator,
  assertOpen: (keyId: string) => void,
): void {
  app.route({
    method: ROUTES.socket.method,
    url: ROUTES.socket.path,
    onRequest: async (request) => {
      request.caller = authenticator.authenticate(request.headers.authorization);
    },
    handler: ({ caller }, reply) => {
      assertOpen(caller.keyId);
      reply.header("upgrade", "websocket").header("connection", "upgrade");
      throw new ProtocolError(
        "UPGRADE_REQUIRED",
        "this path takes a WebSocket handshake of version 13, or POST",
      );
    },
  });
}

function isForUs({ method, url = "", headers }: IncomingMessage): boolean {
  const { path } = ROUTES.socket;
  const isPath = url === path || url.startsWith(`${path}?`);
  return method === ROUTES.socket.method && isPath && headers.upgrade?.toLowerCase() === "websocket";
}

/** Nobody, if the key is not good: the route tells why. */
function grantOf(authenticator: Authenticator, { headers }: IncomingMessage): Grant | undefined {
  try {
    return authenticator.admit(headers.authorization);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** Closes all with 1012 when their answers are out; cuts off those that take too long. */
async function goodbye(connections: ReadonlySet<SocketConnection>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, GOODBYE_MS);
  });
  const leaving = [...connections].map(async (connection) => {
    await connection.drained();
    connection.close(CLOSE_CODES.serviceRestart, "the service is shutting down");
    await connection.closed;
  });
  await Promise.race([Promise.all(leaving), late]);
  clearTimeout(timer);
  for (const connection of connections) connection.terminate();
}
