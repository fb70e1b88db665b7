import { IDEMPOTENCY_KEY } from "../../wire/idempotencyKey.js";
import { NDJSON } from "../../wire/routes.js";
import { SCHEMAS } from "../../wire/schema/index.js";
import { SIGNED } from "../examples.js";
import type { RouteDescription } from "./RouteDescription.js";

export const SUBMIT: RouteDescription = {
  summary: "Submit signed transactions",
  text: [
    "Takes a batch of signed InnerTxs and streams one line for each, in the order in which results are known; `index` says which is which. A chunk of the stream always ends at a line end, and there are no blank lines.",
    "`success` with `txHash` means that the chain's node has taken the transaction, or with `wait=included` that it is in a block and did not revert. A line that timed out ends the waiting, never the work: ask for the record by the line's `id`.",
    "The same signed transaction is the same submission, however often it is sent. A batch is taken whole or not at all; a transaction that breaks a rule fails in its own line. When the key is revoked, the stream ends after a whole line; what was taken goes on.",
  ],
  parameters: [
    {
      in: "query",
      name: "wait",
      description: `${SCHEMAS.Wait.description} \`broadcast\` unless given.`,
      schema: SCHEMAS.Wait,
    },
    {
      in: "header",
      name: IDEMPOTENCY_KEY,
      description:
        "A name for the request, for 24 hours unless configured otherwise. Sent again under it, the same transactions give the same ids and the same outcomes, also of what was refused or has failed. Other transactions under it are refused.",
      schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
    },
    {
      in: "header",
      name: "Accept-Encoding",
      description: "With `gzip` the stream is compressed; each line still comes as soon as it is known.",
      schema: { type: "string" },
    },
  ],
  body: "SubmitRequest",
  answers: {
    200: {
      description: "The batch was taken. Each line of the body is a result line.",
      contentType: NDJSON,
      schema: "ResultLine",
      headers: ["RateLimit", "RateLimit-Policy", "Cache-Control"],
    },
  },
  refusals: [
    "MALFORMED_JSON",
    "MALFORMED_BODY",
    "MALFORMED_QUERY",
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
  -d '{"transactions":["${SIGNED}"]}'`,
  sdk: `for await (const line of client.submit([signed], { wait: "included" })) {
  if (line.success) console.log(line.txHash);
  else console.error(line.error.reason, line.error.message);
}`,
};

export const SOCKET: RouteDescription = {
  summary: "Submit and watch over a WebSocket",
  text: [
    "The upgrade of HTTP/1.1 to a WebSocket: any number of requests over one connection, and `watch` for a client that comes back. The API key is in the header of the handshake. Frames, examples and close codes are in the AsyncAPI document.",
  ],
  answers: {
    101: {
      description: "The connection is a WebSocket from here on.",
      headers: ["Upgrade"],
    },
  },
  refusals: ["UPGRADE_REQUIRED", "SOCKETS_AT_CAPACITY", "SHUTTING_DOWN"],
  curl: `# curl knows no WebSocket frames; with websocat:
websocat -H "Authorization: Bearer $API_KEY" "ws://\${URL#http://}/v1/submit"
{"id": 1, "transactions": ["0x…"]}`,
  sdk: `const socket = connect({ url, apiKey, WebSocket });
for await (const line of socket.submit([signed], { wait: "included" })) console.log(line);
socket.close();`,
};
