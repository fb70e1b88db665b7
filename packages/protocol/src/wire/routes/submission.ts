import submissionRecord, { SUBMISSION_RECORD_SCHEMA } from "../submissionRecord.js";
import { SUBMISSION_ID } from "../values.js";
import { defineRoute, type Route } from "./routeDefinition.js";

/** `:id` stands for the submission's id (D15). The response is a `SubmissionRecord`. */
export const SUBMISSION_ROUTE = {
  method: "GET",
  path: "/v1/submissions/:id",
  authenticated: true,
} as const satisfies Route;

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the record of a submission",
  text: [
    "The record of one submission: its state, its `certainty` (whether it reached a node), the time of each step, and its block once it is in one. A key sees its own submissions only.",
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
  responses: {
    200: {
      description: "The record.",
      contentType: "application/json",
      schema: SUBMISSION_RECORD_SCHEMA,
    },
  },
  refusals: ["NO_SUCH_SUBMISSION", "RATE_EXCEEDED", "QUEUE_AT_CAPACITY", "STORE_UNAVAILABLE"],
  curl: `curl "$URL/v1/submissions/$ID" -H "Authorization: Bearer $API_KEY"`,
  sdk: `const record = await client.status(id);   // once
const included = await client.wait(id);   // until it is in a block; throws the error if it fails`,
  schemas: submissionRecord,
}));
