import { ADDRESS, HASH, SUBMISSION_ID } from "../../wire/schema/index.js";
import { SUBMISSION_STATES } from "../../wire/submission.js";
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from "../../wire/submissions.js";
import type { RouteDescription } from "./RouteDescription.js";

const PAGE_TEXT = { type: "string" } as const;

export const SUBMISSIONS: RouteDescription = {
  summary: "The submissions of a key",
  text: [
    "A page of records, newest first; `next` of the answer is the `cursor` of the next page, and only a page without it is the last. Filters can be combined. What is submitted while pages are read is in none of the later ones, and what moves on meanwhile is in one page once. A key sees only its own submissions.",
    "A parameter that is not in this list is refused, so that no filter is passed over by a mistake.",
  ],
  parameters: [
    {
      in: "query",
      name: "sender",
      description: "Those of this sender: an address.",
      schema: ADDRESS,
    },
    {
      in: "query",
      name: "txHash",
      description: "Those of this InnerTx; several if it failed and was tried again.",
      schema: HASH,
    },
    {
      in: "query",
      name: "state",
      description: `Those in any of these states: ${SUBMISSION_STATES.join(", ")}; with commas, or the parameter several times.`,
      schema: PAGE_TEXT,
    },
    {
      in: "query",
      name: "from",
      description:
        "Those from this moment on, by the time in the `id`, which is when the service first saw it: a day (UTC) or a moment with its zone.",
      schema: PAGE_TEXT,
    },
    { in: "query", name: "to", description: "Those before this moment.", schema: PAGE_TEXT },
    {
      in: "query",
      name: "limit",
      description: `Records on a page; ${DEFAULT_PAGE_SIZE} unless given.`,
      schema: { type: "integer", minimum: 1, maximum: MAX_PAGE_SIZE },
    },
    { in: "query", name: "cursor", description: "`next` of the page before.", schema: PAGE_TEXT },
  ],
  answers: {
    200: {
      description: "The page.",
      contentType: "application/json",
      schema: "SubmissionPage",
      headers: ["Cache-Control"],
    },
  },
  refusals: ["MALFORMED_QUERY", "STORE_UNAVAILABLE"],
  curl: `curl "$URL/v1/submissions?state=failed&limit=10" -H "Authorization: Bearer $API_KEY"`,
  sdk: `for await (const record of client.list({ states: ["failed"] })) console.log(record.id, record.error);`,
};

export const SUBMISSION: RouteDescription = {
  summary: "What became of a submission",
  text: [
    "The record of one submission: its state, what is known of the chain's side, when it took which step, and when it is in a block, where. A key sees only its own submissions.",
  ],
  parameters: [
    {
      in: "path",
      name: "id",
      description: "The `id` of the result line.",
      schema: SUBMISSION_ID,
      required: true,
    },
  ],
  answers: {
    200: { description: "The record.", contentType: "application/json", schema: "SubmissionRecord" },
  },
  refusals: ["NO_SUCH_SUBMISSION", "STORE_UNAVAILABLE"],
  curl: `curl "$URL/v1/submissions/$ID" -H "Authorization: Bearer $API_KEY"`,
  sdk: `const record = await client.status(id);   // once
const included = await client.wait(id);   // until it is in a block; throws what failed`,
};
