import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { ProtocolError, requestErrorBody, statusOf } from "@gas-waiver/protocol";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { KeyLimits } from "../model/caller.js";
import type { Logger } from "../model/log.js";
import type { Metrics } from "../model/metrics.js";
import type { PendingResponses } from "./body/pendingResponses.js";
import { RateExceededError, type RateState } from "./limits/localRateLimiter.js";

/** When a request that was refused for want of room, or of the store, may be tried again. */
const RETRY_AFTER_SECONDS = 1;

/** What the HTTP framework refuses by itself, as a reason of ours (D21). */
const FRAMEWORK_ERRORS = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "UNSUPPORTED_MEDIA_TYPE",
  FST_ERR_CTP_INVALID_JSON_BODY: "MALFORMED_JSON",
  FST_ERR_CTP_EMPTY_JSON_BODY: "MALFORMED_JSON",
  FST_ERR_BAD_URL: "NO_SUCH_PATH",
} as const;

/** Any failure of a request as the one error that is answered. */
function toProtocolError(error: FastifyError | ProtocolError): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const reason = FRAMEWORK_ERRORS[error.code as keyof typeof FRAMEWORK_ERRORS];
  switch (reason) {
    case "UNSUPPORTED_MEDIA_TYPE":
      return new ProtocolError(reason, "the content type is not application/json");
    case "MALFORMED_JSON":
      return new ProtocolError(
        reason,
        error.code === "FST_ERR_CTP_EMPTY_JSON_BODY" ? "the body is empty, not JSON" : "the body is not JSON",
      );
    case "NO_SUCH_PATH":
      return new ProtocolError(reason, "the path is not well-formed");
    default:
  }
  if (error instanceof SyntaxError || error.statusCode === 400) {
    return new ProtocolError("MALFORMED_JSON", `the body is not JSON: ${error.message}`);
  }
  return new ProtocolError("INTERNAL_ERROR", "the service failed to answer; the failure was logged");
}

/**
 * Answers bytes that are no request for HTTP: they reach no route. The body is the one of any other refusal (D21).
 * Behind good requests there is no answer: it would come before theirs, or within one.
 */
export function answerMalformedRequest(
  error: Error & { code?: string },
  socket: Socket,
  answers?: Pick<PendingResponses, "endAfterPending">,
): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  if (answers?.endAfterPending(socket)) return;
  const refusal =
    PARSER_ERRORS[error.code ?? ""] ??
    new ProtocolError("MALFORMED_HTTP", "the request is not well-formed HTTP");
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

const PARSER_ERRORS: Readonly<Record<string, ProtocolError>> = {
  HPE_HEADER_OVERFLOW: new ProtocolError("HEAD_TOO_LARGE", "the header fields are too large"),
  ERR_HTTP_REQUEST_TIMEOUT: new ProtocolError("REQUEST_TOO_SLOW", "the request did not arrive in time"),
};

/** Answers a request refused whole (D21). */
export function createErrorHandler(log: Logger, metrics: Pick<Metrics, "refused">) {
  return (error: FastifyError | ProtocolError, request: FastifyRequest, reply: FastifyReply): void => {
    // The client has left: nobody is there to answer, and what was accepted goes its way (D19).
    if (request.raw.socket.destroyed) return;
    const refusal = toProtocolError(error);
    if (refusal.reason === "INTERNAL_ERROR")
      log.error({ err: error, route: request.routeOptions.url }, "a request failed");
    metrics.refused(refusal.reason);
    if (refusal.code === "UNAUTHORIZED") reply.header("www-authenticate", "Bearer");
    if (refusal.code === "QUEUE_FULL" || refusal.code === "UNAVAILABLE")
      reply.header("retry-after", RETRY_AFTER_SECONDS);
    if (refusal instanceof RateExceededError) {
      reply.header("retry-after", refusal.retryAfterSeconds);
      setRateLimit(reply, refusal.state);
    }
    if (refusal.reason === "BODY_TOO_LARGE" || refusal.reason === "BODIES_AT_CAPACITY") {
      // The rest of the body is read and thrown away: a client that still writes would miss the answer, if the
      // connection were closed on it. The time for a request bounds it.
      reply.removeHeader("connection");
      request.raw.resume();
    }
    reply.status(statusOf(refusal.reason)).send(requestErrorBody(refusal));
  };
}

/** The IETF `RateLimit` field (draft-ietf-httpapi-ratelimit-headers). */
export function setRateLimit(reply: FastifyReply, { remaining, resetSeconds }: RateState): void {
  reply.header("ratelimit", `"transactions";r=${remaining};t=${resetSeconds}`);
}

/** The IETF `RateLimit-Policy` field: quota in a window of `windowSeconds`. */
export function setRateLimitPolicy(
  reply: FastifyReply,
  { ratePerSecond, rateBurst }: Pick<KeyLimits, "ratePerSecond" | "rateBurst">,
): void {
  const windowSeconds = Math.max(1, Math.ceil(rateBurst / ratePerSecond));
  reply.header("ratelimit-policy", `"transactions";q=${rateBurst};w=${windowSeconds}`);
}
