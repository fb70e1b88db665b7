import { isIP } from "node:net";
import fastify, { type FastifyInstance } from "fastify";
import { answer } from "./dispatch.js";
import { RPC_CODES } from "./errors.js";
import type { Methods } from "./methods.js";

/** Room for a batch of the largest transactions in hex. */
const BODY_LIMIT = 64 * 1024 * 1024;

export interface RpcServer {
  /** @param port 0 picks a free one. @throws the system's error, such as EADDRINUSE. */
  listen(at: { readonly host: string; readonly port: number }): Promise<ListeningAt>;
  close(): Promise<void>;
}

export interface ListeningAt {
  readonly url: string;
  readonly host: string;
  readonly port: number;
}

/** @param afterRequest runs after each request or batch and before its answer goes out. */
export function createRpcServer(methods: Methods, afterRequest: () => Promise<void>): RpcServer {
  const app = fastify({ bodyLimit: BODY_LIMIT, forceCloseConnections: true });
  allowBrowsers(app);
  // Everything is taken as text: what is not JSON gets a JSON-RPC error, whatever type it claims to be.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.post("/", async (request, reply) => {
    const response = await answer(methods, typeof request.body === "string" ? request.body : "");
    await afterRequest();
    if (response === undefined) return reply.code(204).send();
    return reply.type("application/json").send(JSON.stringify(response));
  });
  app.get("/", async (_request, reply) => {
    return reply.code(405).header("allow", "POST, OPTIONS").send(refusal("send JSON-RPC requests by POST"));
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
    close: () => app.close(),
  };
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
