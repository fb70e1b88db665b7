import { Readable } from "node:stream";
import {
  encodeResultLine,
  NDJSON,
  ProtocolError,
  parseSubmitRequest,
  parseWait,
  type ResultLine,
  ROUTES,
} from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import type { Caller } from "../caller.js";
import type { Intake } from "../intake.js";
import type { Authenticator } from "./auth.js";
import { setRateLimit, setRateLimitPolicy } from "./errors.js";
import { asksForGzip, gzipEach } from "./gzip.js";
import type { RateLimiter } from "./limit.js";
import { addVary } from "./vary.js";

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
      request.caller = authenticator.authenticate(request.headers.authorization);
      assertPlainBody(request.headers["content-encoding"]);
    },
    handler: async (request, reply) => {
      const wait = parseWait(request.query.wait);
      const { caller } = request;
      const { transactions } = parseSubmitRequest(request.body, caller.limits.maxBatchSize);
      setRateLimitPolicy(reply, caller.limits);
      setRateLimit(reply, limiter.take(caller, transactions.length));
      const lines = await intake.submit(caller, transactions, wait).catch((error: unknown) => {
        limiter.giveBack(caller, transactions.length);
        throw error;
      });
      const compress = asksForGzip(request.headers["accept-encoding"]);
      const body = compress ? gzipEach(encode(lines)) : encode(lines);
      if (compress) reply.header("content-encoding", "gzip");
      addVary(reply, "accept-encoding");
      return reply
        .type(NDJSON)
        .header("cache-control", "no-store")
        .send(Readable.from(body, { objectMode: false, highWaterMark: 16_384 }));
    },
  });
}

/** D21: the body is JSON as it is, not compressed. */
function assertPlainBody(encoding: string | undefined): void {
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
  }
}
