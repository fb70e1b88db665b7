import resultLine, { NDJSON, RESULT_LINE_SCHEMA } from "../resultLine.js";
import { SIGNED_SAMPLE } from "../samples.js";
import submitRequest, { SUBMIT_REQUEST_SCHEMA } from "../submitRequest.js";
import wait, { WAIT_SCHEMA } from "../wait.js";
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_SCHEMA } from "./idempotencyKey.js";
import { defineRoute, type Route } from "./routeDefinition.js";

/** The body is a `SubmitRequest`; each line of the response is a `ResultLine`. */
export const SUBMIT_ROUTE = {
  method: "POST",
  path: "/v1/submit",
  authenticated: true,
} as const satisfies Route;

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Submit signed transactions",
  text: [
    "Accepts a batch of signed InnerTxs and streams one line for each, in the order in which the results are known; `index` says which transaction a line belongs to. The service ends each chunk of the stream at the end of a line, there are no blank lines, and the stream is never compressed. So a client can split each chunk at newlines and parse each piece as JSON; where the network cuts the stream anew, it keeps what stands behind the last newline for the next piece.",
    "`success` with `txHash` means that the chain's node accepted the transaction, or with `wait=included` that it is in a block and did not revert. A time-out ends the wait for a line and never the work: the record under the line's `id` tells the outcome.",
    "The same signed transaction is the same submission, however often it is sent. A batch is admitted whole or not at all; a transaction that breaks a rule fails in its own line. If the key is revoked, the stream ends after a whole line, and the accepted submissions go on.",
  ],
  parameters: [
    {
      in: "query",
      name: "wait",
      description: `${WAIT_SCHEMA.description} \`broadcast\` if it is absent, in the body too.`,
      schema: WAIT_SCHEMA,
    },
    {
      in: "header",
      name: IDEMPOTENCY_KEY,
      description:
        "A name for the request, kept for 24 hours unless configured otherwise. A repetition with the same transactions returns the same ids and the same outcomes, refusals and failures included. One with other transactions is refused.",
      schema: IDEMPOTENCY_KEY_SCHEMA,
    },
  ],
  body: SUBMIT_REQUEST_SCHEMA,
  responses: {
    200: {
      description: "The batch was admitted. Each line of the body is a result line.",
      contentType: NDJSON,
      schema: RESULT_LINE_SCHEMA,
      headers: ["RateLimit", "RateLimit-Policy", "Cache-Control"],
    },
  },
  refusals: [
    "MALFORMED_JSON",
    "MALFORMED_BODY",
    "EMPTY_BATCH",
    "UNSUPPORTED_MEDIA_TYPE",
    "BODY_TOO_LARGE",
    "BATCH_TOO_LARGE",
    "INVALID_IDEMPOTENCY_KEY",
    "IDEMPOTENCY_KEY_REUSED",
    "RATE_EXCEEDED",
    "QUEUE_AT_CAPACITY",
    "KEY_SHARE_EXHAUSTED",
    "BODIES_AT_CAPACITY",
    "STORE_UNAVAILABLE",
    "CHAIN_UNAVAILABLE",
    "SHUTTING_DOWN",
  ],
  curl: `curl -N "$URL/v1/submit" \\
  -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\
  -d '{"transactions":["${SIGNED_SAMPLE}"]}'`,
  sdk: `for await (const line of client.submit([signed], { wait: "included" })) {
  if (line.success) console.log(line.txHash);
  else console.error(line.error.reason, line.error.message);
}`,
  schemas: { ...submitRequest, ...wait, ...resultLine },
}));
