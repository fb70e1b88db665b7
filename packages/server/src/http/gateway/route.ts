import { errorBodyOf, type ProtocolError, statusOf } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Gateway } from "../../gateway/gateway.js";
import { GatewayRefusal, RPC_CODES } from "../../gateway/jsonRpc.js";
import { refusalFor } from "../../gateway/words.js";
import { partyOf } from "../../model/keys/caller.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import type { LoopQueue } from "../../util/loopQueue.js";
import { type AuthenticatedRequest, type Authenticator, requireApiKey } from "../authenticator.js";
import { type HeldBody, refuseEncodedBody, slicesOf } from "../body/jsonBody.js";
import { onResponseClosed } from "../body/sendChunks.js";
import { createErrorHandler, type RefusalForm } from "../errors.js";
import { GATEWAY_PATHS, GATEWAY_ROUTE, GATEWAY_SOCKET_ROUTE } from "../paths.js";
import { upgradeRequired } from "../routes/socket.js";
import type { SocketAcceptor } from "../socket/socket.js";
import { admitAnswer } from "./admitAnswer.js";

export interface GatewayRouteServices {
  readonly gateway: Pick<Gateway, "answer" | "beginExchange">;
  readonly authenticator: Authenticator;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly sockets: Pick<SocketAcceptor, "assertRoom">;
  readonly loop: LoopQueue;
}

/** Refusals of whole requests in the form of JSON-RPC. Clients that only know HTTP go by the status. */
const RPC_REFUSAL: RefusalForm = {
  // Nodes answer JSON-RPC's own errors with 200.
  statusOf: (reason) => (reason === "MALFORMED_JSON" ? 200 : statusOf(reason)),
  bodyOf(refusal) {
    const { code, message, data } = toGatewayRefusal(refusal);
    return { jsonrpc: "2.0", id: null, error: { code, message, data } };
  },
};

function toGatewayRefusal(refusal: ProtocolError): GatewayRefusal {
  if (refusal.reason !== "MALFORMED_JSON") return refusalFor(errorBodyOf(refusal));
  return new GatewayRefusal(RPC_CODES.parseError, `parse error: ${refusal.message}`);
}

/**
 * Serves `/rpc/<publishable key>`: JSON-RPC for unmodified wallets, by POST and as a WebSocket (docs/guides/gateway.md). The key is in the URL,
 * because a URL is all that a wallet takes. No log has the URL of a request.
 */
export function serveGateway(app: FastifyInstance, services: GatewayRouteServices): void {
  const { gateway, authenticator, log, metrics, sockets, loop } = services;
  app.register(async (scope) => {
    requireApiKey(scope, authenticator);
    scope.setErrorHandler(createErrorHandler(log, metrics, RPC_REFUSAL));
    for (const url of GATEWAY_PATHS) {
      // A handshake that succeeds leaves HTTP before any route.
      scope.route({
        method: GATEWAY_SOCKET_ROUTE.method,
        url,
        handler: async (request, reply) => {
          const { raw } = request as AuthenticatedRequest;
          sockets.assertRoom(raw);
          throw upgradeRequired(reply);
        },
      });
      scope.route({
        method: GATEWAY_ROUTE.method,
        url,
        onRequest: refuseEncodedBody,
        handler: async (request, reply) => {
          const { caller, body, raw, bodyMemory } = request as AuthenticatedRequest & HeldBody;
          // A client that has left and one that has closed its sending half alone look alike.
          const mayHaveLeft = () => raw.socket.readableEnded;
          const exchange = gateway.beginExchange(mayHaveLeft, bodyMemory);
          onResponseClosed(raw, reply.raw, () => {
            if (!reply.raw.writableFinished || mayHaveLeft()) exchange.lost();
          });
          const answer = await gateway.answer(body, caller, exchange);
          await admitAnswer(answer, slicesOf(loop, partyOf(caller)));
          return send(reply, answer);
        },
      });
    }
  });
}

function send(reply: FastifyReply, answer: string | undefined): FastifyReply {
  reply.header("cache-control", "no-store");
  // Notifications alone have no answer.
  if (answer === undefined) return reply.status(204).send();
  return reply.type("application/json; charset=utf-8").send(answer);
}
