import { isIP } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { WebSocketServer } from "ws";
import type { Faults } from "../faults/faults.js";
import { type Delivery, exchange } from "../faults/faultyExchange.js";
import type { Connection } from "../rpc/connection.js";
import { answer } from "../rpc/dispatch.js";
import { RPC_CODES } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { RpcSocket } from "./rpcSocket.js";

/** Of a request's body and of a WebSocket message: room for a batch of the largest transactions in hex. */
const BODY_LIMIT = 64 * 1024 * 1024;

/** JSON-RPC over HTTP and WebSocket, on one port. */
export interface RpcServer {
  /** @param port 0 picks a free one. @throws the system's error, such as EADDRINUSE. */
  listen(at: { readonly host: string; readonly port: number }): Promise<ListeningAt>;
  /** Cuts every WebSocket without a word. @returns how many there were. */
  cutSockets(): number;
  close(): Promise<void>;
}

export interface ListeningAt {
  readonly url: string;
  readonly host: string;
  readonly port: number;
}

/**
 * @param afterRequest runs after each request or batch and before its answer goes out.
 * @param faults may spoil what clients ask for; while none is set, nothing of them is in the way.
 */
export function createRpcServer(
  methods: Methods,
  afterRequest: () => Promise<void>,
  faults: Faults,
): RpcServer {
  const app = fastify({ bodyLimit: BODY_LIMIT, forceCloseConnections: true });
  allowBrowsers(app);
  // Everything is taken as text: what is not JSON gets a JSON-RPC error, whatever type it claims to be.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  const spoiled = faults.around(methods);
  const respond = async (text: string, connection?: Connection) => {
    const response = await answer(faults.active ? spoiled : methods, text, connection);
    await afterRequest();
    return response;
  };
  const deliver = async (text: string, connection?: Connection): Promise<Delivery> =>
    faults.active
      ? exchange(faults, text, (whole) => respond(whole, connection))
      : { kind: "answer", response: await respond(text, connection) };
  const sockets = acceptSockets(app, deliver);
  app.post("/", async (request, reply) => {
    const delivery = await deliver(typeof request.body === "string" ? request.body : "");
    if (delivery.kind !== "answer") return spoil(delivery, request, reply);
    const { response } = delivery;
    if (response === undefined) return reply.code(204).send();
    return reply.type("application/json").send(JSON.stringify(response));
  });
  app.get("/", async (_request, reply) => {
    return reply
      .code(405)
      .header("allow", "POST, OPTIONS")
      .send(refusal("send JSON-RPC requests by POST, or open a WebSocket"));
  });
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    return reply.code(error.statusCode ?? 500).send(refusal(error.message));
  });
  return {
    async listen({ host, port }) {
      await app.listen({ host, port });
      const bound = app.server.address();
      const actual = typeof bound === "object" && bound !== null ? bound.port : port;
      return { url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${actual}`, host, port: actual };
    },
    cutSockets() {
      for (const socket of sockets) socket.cut();
      return sockets.size;
    },
    async close() {
      for (const socket of sockets) socket.close();
      await app.close();
    },
  };
}

/** A bad day over HTTP. A client that gets silence waits until it gives up, or until the server closes. */
function spoil(
  delivery: Exclude<Delivery, { kind: "answer" }>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (delivery.kind === "other") return reply.code(delivery.status).type("text/html").send(delivery.body);
  reply.hijack();
  if (delivery.kind === "reset") request.raw.socket.resetAndDestroy();
  return reply;
}

/** Takes upgrades on the HTTP server. @returns the open sockets, of which those that end take leave themselves. */
function acceptSockets(
  app: FastifyInstance,
  deliver: (text: string, connection: Connection) => Promise<Delivery>,
): ReadonlySet<RpcSocket> {
  const sockets = new Set<RpcSocket>();
  const upgrades = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: BODY_LIMIT });
  app.server.on("upgrade", (request, stream, head) => {
    upgrades.handleUpgrade(request, stream, head, (webSocket) => {
      const socket = new RpcSocket(webSocket, {
        async answer(text) {
          const delivery = await deliver(text, socket);
          if (delivery.kind === "answer") return delivery.response;
          // A WebSocket has no status: what HTTP would answer with one breaks the connection.
          if (delivery.kind === "reset" || delivery.kind === "other") socket.cut();
          return undefined;
        },
      });
      sockets.add(socket);
      webSocket.on("close", () => sockets.delete(socket));
    });
  });
  return sockets;
}

/** A local tool: pages from any origin may use it. */
function allowBrowsers(app: FastifyInstance): void {
  app.addHook("onRequest", async (_request, reply) => {
    reply.header("access-control-allow-origin", "*");
  });
  app.options("/", async (_request, reply) => {
    return reply
      .code(204)
      .header("access-control-allow-methods", "POST, OPTIONS")
      .header("access-control-allow-headers", "*")
      .header("access-control-max-age", "86400")
      .send();
  });
}

function refusal(message: string) {
  return { jsonrpc: "2.0", id: null, error: { code: RPC_CODES.invalidRequest, message } };
}
