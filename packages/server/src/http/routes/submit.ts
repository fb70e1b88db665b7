import {
  encodeResultLine,
  NDJSON,
  ProtocolError,
  parseIdempotencyKey,
  parseSubmitRequest,
  parseWait,
} from "@gas-waiver/protocol";
import type { FastifyReply } from "fastify";
import type { LineGroup } from "../../results/resultLine.js";
import type { AuthenticatedRequest } from "../authenticator.js";
import { refuseEncodedBody } from "../body/jsonBody.js";
import { sendChunks } from "../body/sendChunks.js";
import { setRateLimit } from "../limits/rates.js";
import type { RouteServices } from "./routeHandler.js";

/** `POST /v1/submit`: one NDJSON line for each transaction, written as soon as its result is known (D13, D14). */
export function serveSubmit({ intake, rateLimiter }: Pick<RouteServices, "intake" | "rateLimiter">) {
  return {
    onRequest: refuseEncodedBody,
    async handler(request: AuthenticatedRequest, reply: FastifyReply): Promise<void> {
      const idempotencyKey = parseIdempotencyKey(request.headers["idempotency-key"]);
      const { caller, grant } = request;
      const { transactions, wait } = readSubmit(request, caller.limits.maxBatchSize);
      const tokens = await rateLimiter.take(caller, transactions.length);
      setRateLimit(reply, { limits: caller.limits, state: tokens.state, unit: "transactions" });
      const lines = await intake.submit(caller, transactions, wait, {
        idempotencyKey,
        refund: tokens.refund,
      });
      // D14: never compressed, by proxies neither. An inflater cuts lines in the middle.
      reply.type(NDJSON).header("cache-control", "no-store, no-transform");
      // D25: when the key stops being valid, the stream ends after a whole line.
      await sendChunks(reply, lines, { encode: encodeLines, signal: grant.signal });
    },
  };
}

/** Reads the batch, and the one `wait` of the query or of the body (D16). */
function readSubmit({ query, body }: AuthenticatedRequest, maxBatchSize: number) {
  const inQuery = parseWait(query.wait);
  const { transactions, wait = inQuery } = parseSubmitRequest(body, maxBatchSize);
  if (query.wait === undefined || wait === inQuery) return { transactions, wait };
  throw new ProtocolError("MALFORMED_QUERY", `wait is ${inQuery} in the query and ${wait} in the body`, {
    parameter: "wait",
  });
}

/** A chunk is whole lines, so a cut stream ends at the end of a line (D14). */
function encodeLines(lines: LineGroup): Buffer {
  return Buffer.from(lines.map((line) => `${encodeResultLine(line)}\n`).join(""));
}
