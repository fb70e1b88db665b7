import { isIP } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { WebSocketServer } from "ws";
import type { Faults } from "../faults/faults.js";
import { type Delivery, faultyExchange } from "../faults/faultyExchange.js";
import { answer } from "../rpc/dispatch.js";
import { RPC_CODES } from "../rpc/errors.js";
import type { Connection, Methods } from "../rpc/method.js";
import { type AllowedCallers, callerRefusal } from "./allowedCallers.js";
import { RpcSocket } from "./rpcSocket.js";

/** The most bytes of a request's body and of a WebSocket message. As hex, the largest transaction takes 2 MiB. */
const BODY_LIMIT = 64 * 1024 * 1024;
/** Also with a suffix, such as `application/vnd.api+json`, and with parameters. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:-rpc)?\s*(?:;|$)/i;

/** JSON-RPC over HTTP and WebSocket, on one port. */
export type RpcServer = ReturnType<typeof createRpcServer>;

/**
 * Creates the server; it accepts connections after `listen`.
 * @param afterRequest runs after each request or batch, before its response is sent.
 * @param faults may strike requests. While none is set, requests bypass them.
 * @param allowed the callers besides those of this machine.
 */
export function createRpcServer(
  methods: Methods,
  afterRequest: () => Promise<void>,
  faults: Faults,
  allowed: AllowedCallers,
) {
  const deliver = deliveryOf(methods, afterRequest, faults);
  // Without these, Fastify loads its compilers of schemas, and no request here has one.
  const compilersFactory = { buildValidator: noSchemas, buildSerializer: noSchemas };
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    schemaController: { compilersFactory },
  });
  refuseForeignCallers(app, allowed);
  allowBrowsers(app);
  servePosts(app, deliver);
  const sockets = acceptSockets(app, deliver, allowed);
  return {
    /** Starts listening; port 0 picks a free one. @throws the system's error, such as EADDRINUSE. */
    async listen({ host, port }: { readonly host: string; readonly port: number }) {
      await app.listen({ host, port });
      const bound = app.server.address();
      const actual = typeof bound === "object" && bound !== null ? bound.port : port;
      return { url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${actual}`, host, port: actual };
    },
    /** Breaks every WebSocket without a close frame. @returns how many there were. */
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

const noSchemas = (): never => {
  throw new Error("no request has a schema");
};

/** Answers the text of a request or batch, or strikes it with a fault. */
type Deliver = (text: string, from: { connection?: Connection; address?: string }) => Promise<Delivery>;

function deliveryOf(methods: Methods, afterRequest: () => Promise<void>, faults: Faults): Deliver {
  const faultyMethods = faults.wrap(methods);
  const respond = async (text: string, connection?: Connection) => {
    const response = await answer(faults.active ? faultyMethods : methods, text, connection);
    await afterRequest();
    return response;
  };
  return async (text, { connection, address }) =>
    faults.active
      ? faultyExchange(faults, text, (whole) => respond(whole, connection), address)
      : { kind: "answer", response: await respond(text, connection) };
}

function servePosts(app: FastifyInstance, deliver: Deliver): void {
  // The body is read as text, so that one that is not JSON gets a JSON-RPC error. Other content types
  // are refused, because browsers send some of them to other origins without a preflight request.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_TYPE, { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.post("/", async (request, reply) => {
    const text = typeof request.body === "string" ? request.body : "";
    const delivery = await deliver(text, { address: request.ip });
    if (delivery.kind !== "answer") return sendFault(delivery, request, reply);
    const { response } = delivery;
    if (response === undefined) return reply.code(204).send();
    return reply.type("application/json").send(JSON.stringify(response));
  });
  app.get("/", async (_request, reply) => {
    return reply
      .code(405)
      .header("allow", "POST, OPTIONS")
      .send(invalidRequest("send JSON-RPC requests by POST, or open a WebSocket"));
  });
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    const status = error.statusCode ?? 500;
    const message = status === 415 ? "send JSON-RPC as application/json" : error.message;
    return reply.code(status).send(invalidRequest(message));
  });
}

/** Sends a fault over HTTP. Without a response, the client waits until it gives up or the server closes. */
function sendFault(
  delivery: Exclude<Delivery, { kind: "answer" }>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (delivery.kind === "other") {
    if (delivery.retryAfter !== undefined) reply.header("retry-after", delivery.retryAfter);
    return reply.code(delivery.status).type("text/html").send(delivery.body);
  }
  reply.hijack();
  if (delivery.kind === "reset") request.raw.socket.resetAndDestroy();
  return reply;
}

/** Upgrades requests on the HTTP server to WebSockets. @returns the open sockets; closed ones are removed. */
function acceptSockets(
  app: FastifyInstance,
  deliver: Deliver,
  allowed: AllowedCallers,
): ReadonlySet<RpcSocket> {
  const sockets = new Set<RpcSocket>();
  const upgrades = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: BODY_LIMIT });
  app.server.on("upgrade", (request, stream, head) => {
    if (callerRefusal(request.headers, allowed) !== undefined) {
      stream.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    upgrades.handleUpgrade(request, stream, head, (webSocket) => {
      const socket = new RpcSocket(webSocket, {
        async answer(text) {
          const delivery = await deliver(text, { connection: socket });
          if (delivery.kind === "answer") return delivery.response;
          // A WebSocket has no status codes, so faults with one break the connection.
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

/** Refuses pages of other machines, and hosts that are not this one, before the body is read. */
function refuseForeignCallers(app: FastifyInstance, allowed: AllowedCallers): void {
  app.addHook("onRequest", async (request, reply) => {
    const refusal = callerRefusal(request.headers, allowed);
    if (refusal !== undefined) return reply.code(403).send(invalidRequest(refusal));
  });
}

/** Lets pages of allowed origins use the node. */
function allowBrowsers(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ headers: { origin } }, reply) => {
    reply.header("vary", "Origin");
    if (origin !== undefined) reply.header("access-control-allow-origin", origin);
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

function invalidRequest(message: string) {
  return { jsonrpc: "2.0", id: null, error: { code: RPC_CODES.invalidRequest, message } };
}
