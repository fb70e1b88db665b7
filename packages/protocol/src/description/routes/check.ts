import { NDJSON } from "../../wire/routes.js";
import { SCHEMAS } from "../../wire/schema/index.js";
import { SIGNED } from "../examples.js";
import type { RouteDescription } from "./RouteDescription.js";

export const CHECK: RouteDescription = {
  summary: "Would these transactions be taken?",
  text: [
    "The dry run of a submit: the same body, a line for each transaction, in their order, and nothing is accepted, queued or sent. A line says whether the transaction would be taken now, or which rule refuses it: its form, the rules of the chain, what the waivers and this key may send, what the chain says of the sender, its nonce and its balance, and the key's daily caps.",
    "Transactions of one sender are looked at together, in the order of their nonces: a nonce counts as filled by what is under way, and by what the same request holds and would be taken. One ahead of its turn is `NONCE_GAP`, where a submit would wait a while for the one before it. Their `value` adds up against the balance.",
    "With `simulate=true` each call that would be taken is run alone on the latest block, from its sender and with its gas limit. Whether it reverts is told beside the line's `success`, which says that it would be taken.",
    "A check counts for nothing: it has a rate of its own, as high as that of submits. What is true now may not be when the transaction is submitted.",
  ],
  parameters: [
    {
      in: "query",
      name: "simulate",
      description: `${SCHEMAS.Simulate.description} \`false\` unless given.`,
      schema: SCHEMAS.Simulate,
    },
  ],
  body: "SubmitRequest",
  answers: {
    200: {
      description: "Each line of the body is the check of one transaction.",
      contentType: NDJSON,
      schema: "CheckLine",
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
    "RATE_EXCEEDED",
    "QUEUE_AT_CAPACITY",
    "BODIES_AT_CAPACITY",
    "STORE_UNAVAILABLE",
    "CHAIN_UNAVAILABLE",
    "SHUTTING_DOWN",
  ],
  curl: `curl "$URL/v1/check?simulate=true" \\
  -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\
  -d '{"transactions":["${SIGNED}"]}'`,
  sdk: `const [line] = await client.check([signed], { simulate: true });
if (!line.success) console.error(line.error.reason, line.error.message);`,
};
