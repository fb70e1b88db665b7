import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { ProtocolError, requestErrorBody, statusOf } from "@gas-waiver/protocol";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../model/keys/caller.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Metrics } from "../model/telemetry/metrics.js";
import { RateRefusal, setRateLimit } from "./limits/rates.js";
import type { RequestTurns } from "./limits/requestTurns.js";

/** Clients may retry after this when the queue is full or the store or the node is unavailable. */
const RETRY_AFTER_SECONDS = 1;

type Refusal = readonly [reason: ProtocolError["reason"], message: string];

/** The refusals that Fastify makes by itself, by its error codes (D21). */
const FRAMEWORK_ERRORS: Readonly<Record<string, Refusal>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["UNSUPPORTED_MEDIA_TYPE", "the content type is not application/json"],
  FST_ERR_CTP_INVALID_JSON_BODY: ["MALFORMED_JSON", "the body is not JSON"],
  FST_ERR_CTP_EMPTY_JSON_BODY: ["MALFORMED_JSON", "the body is empty, not JSON"],
  FST_ERR_BAD_URL: ["NO_SUCH_PATH", "the path is not well-formed"],
};

const TIME_OUT = "ERR_HTTP_REQUEST_TIMEOUT";
/** The errors of Node's HTTP parser and its time-outs, by their codes. Any other one is `MALFORMED_HTTP`. */
const PARSER_ERRORS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: ["HEAD_TOO_LARGE", "the header fields are too large"],
  [TIME_OUT]: ["REQUEST_TOO_SLOW", "the request did not arrive in time"],
};
const MALFORMED_HTTP: Refusal = ["MALFORMED_HTTP", "the request is not well-formed HTTP"];

function toProtocolError(error: FastifyError | ProtocolError): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const known = FRAMEWORK_ERRORS[error.code];
  if (known) return new ProtocolError(...known);
  if (error instanceof SyntaxError || error.statusCode === 400) {
    return new ProtocolError("MALFORMED_JSON", `the body is not JSON: ${error.message}`);
  }
  return internalError();
}

/** The refusal that stands for a failure of the service. Its cause is only logged, because it may hold what clients must not see. */
export function internalError(): ProtocolError {
  return new ProtocolError("INTERNAL_ERROR", "the service failed to answer; the failure was logged");
}

/**
 * Answers bytes that are not an HTTP request. Such bytes reach no route, so the response (D21) is written to the socket
 * directly. Nothing is written while earlier requests of the connection wait for their responses, because the bytes would
 * come before or into an earlier response.
 */
export function answerMalformedRequest(
  error: Error & { code?: string },
  socket: Socket,
  turns?: Pick<RequestTurns, "endAfterPending">,
): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  if (turns?.endAfterPending(socket)) return;
  if (error.code === TIME_OUT && socket.bytesRead === 0) {
    closeUnused(socket);
    return;
  }
  const refusal = new ProtocolError(...(PARSER_ERRORS[error.code ?? ""] ?? MALFORMED_HTTP));
  const status = statusOf(refusal.reason);
  const body = JSON.stringify(requestErrorBody(refusal));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/**
 * Closes a connection on which no request has begun, without an answer: a client that begins one at this moment would take it
 * for the answer to its own. A process that was halted may have a request there that it has not read yet, and reads it first.
 */
function closeUnused(socket: Socket): void {
  setImmediate(() => {
    if (socket.bytesRead === 0) socket.destroy();
  });
}

/** Writes a refusal as the status and body of a response. */
export interface RefusalForm {
  statusOf(reason: ProtocolError["reason"]): number;
  bodyOf(refusal: ProtocolError): object;
}

/** The form of every route but the gateway's (D21). */
const REQUEST_REFUSAL: RefusalForm = { statusOf, bodyOf: requestErrorBody };

/** Creates Fastify's error handler, which answers a request that is refused whole (D21). */
export function createErrorHandler(
  log: Logger,
  metrics: Pick<Metrics, "refused">,
  form: RefusalForm = REQUEST_REFUSAL,
) {
  return (error: FastifyError | ProtocolError, request: FastifyRequest, reply: FastifyReply): void => {
    // The client has left, so nobody reads an answer. Accepted transactions go on (D19).
    if (request.raw.socket.destroyed) return;
    const refusal = toProtocolError(error);
    if (refusal.reason === "INTERNAL_ERROR")
      log.error({ err: error, route: request.routeOptions.url }, "a request failed");
    // A refusal of the key itself comes before there is a caller.
    metrics.refused(refusal, (request as FastifyRequest & { readonly caller?: Caller }).caller?.keyId);
    setRefusalHeaders(reply, refusal);
    if (refusal.reason === "BODY_TOO_LARGE" || refusal.reason === "BODIES_AT_CAPACITY") {
      // Reads the rest of the body and drops it. If the connection were closed on a client that still writes, the client
      // would miss the answer. The time-out for requests bounds this.
      reply.removeHeader("connection");
      request.raw.resume();
    }
    reply.status(form.statusOf(refusal.reason)).send(form.bodyOf(refusal));
  };
}

function setRefusalHeaders(reply: FastifyReply, refusal: ProtocolError): void {
  if (refusal.code === "UNAUTHORIZED") reply.header("www-authenticate", "Bearer");
  if (refusal.code === "QUEUE_FULL" || refusal.code === "UNAVAILABLE")
    reply.header("retry-after", RETRY_AFTER_SECONDS);
  const { retryAfterSeconds } = refusal.values;
  if (retryAfterSeconds !== undefined) reply.header("retry-after", retryAfterSeconds);
  if (refusal instanceof RateRefusal) setRateLimit(reply, refusal);
}
