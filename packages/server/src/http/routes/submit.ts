import {
  encodeResultLine,
  NDJSON,
  ProtocolError,
  parseIdempotencyKey,
  parseSubmitRequest,
  parseWait,
  type ResultLine,
  ROUTES,
} from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import type { Intake } from "../../intake/intake.js";
import type { Grant } from "../../keys/cachedKey.js";
import type { Caller } from "../../model/caller.js";
import type { Authenticator } from "../auth.js";
import { acceptsGzip, gzipChunks } from "../body/gzip.js";
import { sendChunks } from "../body/sendChunks.js";
import { takeUntilAborted } from "../body/takeUntilAborted.js";
import { setRateLimit, setRateLimitPolicy } from "../errors.js";
import type { RateLimiter } from "../limits/rateLimiter.js";
import { addVary } from "../vary.js";

export interface SubmitDependencies {
  readonly intake: Intake;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
}

/** `POST /v1/submit`: one NDJSON line a transaction, each written as soon as it is known (D13, D14). */
export function registerSubmit(app: FastifyInstance, dependencies: SubmitDependencies): void {
  const { intake, authenticator, limiter } = dependencies;
  app.route<{ Querystring: Record<string, unknown> }>({
    method: ROUTES.submit.method,
    url: ROUTES.submit.path,
    // Before the body is read: a stranger's body is not worth the memory.
    onRequest: async (request) => {
      request.grant = authenticator.admit(request.headers.authorization);
      request.caller = request.grant.caller;
      assertPlainBody(request.headers["content-encoding"]);
    },
    handler: async (request, reply) => {
      const wait = parseWait(request.query.wait);
      const name = parseIdempotencyKey(request.headers["idempotency-key"]);
      const { caller, signal } = request.grant;
      // It may have ended while the body came.
      signal.throwIfAborted();
      const { transactions } = parseSubmitRequest(request.body, caller.limits.maxBatchSize);
      setRateLimitPolicy(reply, caller.limits);
      const taken = await limiter.take(caller, transactions.length);
      setRateLimit(reply, taken.state);
      const lines = await intake.submit(caller, transactions, wait, name).catch((error: unknown) => {
        taken.refund();
        throw error;
      });
      // D25: a key that ends cuts the stream after a whole line.
      const encoded = encode(takeUntilAborted(lines, signal));
      const compress = acceptsGzip(request.headers["accept-encoding"]);
      const body = compress ? gzipChunks(encoded) : encoded;
      if (compress) reply.header("content-encoding", "gzip");
      addVary(reply, "accept-encoding");
      await sendChunks(reply.type(NDJSON).header("cache-control", "no-store"), body);
    },
  });
}

/** D21: the body is JSON as it is, not compressed. */
export function assertPlainBody(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === "identity") return;
  const message = "the body has a content encoding; send the JSON as it is";
  throw new ProtocolError("UNSUPPORTED_MEDIA_TYPE", message);
}

/** A chunk is a whole line, so that it always ends at a line end (D14). */
async function* encode(lines: AsyncIterable<ResultLine>): AsyncGenerator<Buffer> {
  for await (const line of lines) yield Buffer.from(`${encodeResultLine(line)}\n`);
}

declare module "fastify" {
  interface FastifyRequest {
    /** Who calls; set before the body of an authenticated route is read. */
    caller: Caller;
    /** The same, for routes whose answers last. */
    grant: Grant;
  }
}
