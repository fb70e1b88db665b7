import refusedRecord, { ANY_SUBMISSION_RECORD_SCHEMA } from "../refusedRecord.js";
import { HASH, schemaOf } from "../schema.js";
import submissionRecord from "../submissionRecord.js";
import { defineRoute, type Route } from "./routeDefinition.js";

/** `:id` stands for the submission's id (D15), or for the hash of its transaction (D6). The response is an `AnySubmissionRecord`. */
export const SUBMISSION_ROUTE = {
  method: "GET",
  path: "/v1/submissions/:id",
  authenticated: true,
} as const satisfies Route;

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the record of a submission",
  text: [
    "The record of one submission: its state, its `certainty` (whether it reached a node), the time of each step, and its block once it is in one. A key sees its own submissions only, and a publishable key only those that it names by hash.",
    "The `id` of a refused line has a record for a day, with `refused: true` and the error of its line, and with the transaction's hash, sender, nonce and call as far as its bytes could be read. Refusals are kept apart from submissions: lists do not have them, they are not found by hash, those of publishable keys are not kept, and of a flood only a part is. A crash of the database may lose them.",
  ],
  parameters: [
    {
      in: "path",
      name: "id",
      description: "The `id` of the result line, or the hash of the transaction.",
      schema: { oneOf: [schemaOf("submissionId"), HASH] },
      required: true,
    },
  ],
  responses: {
    200: {
      description: "The record of the submission, or of the refused line.",
      contentType: "application/json",
      schema: ANY_SUBMISSION_RECORD_SCHEMA,
    },
  },
  refusals: ["NO_SUCH_SUBMISSION", "RATE_EXCEEDED", "QUEUE_AT_CAPACITY", "STORE_UNAVAILABLE"],
  curl: `curl "$URL/v1/submissions/$ID" -H "Authorization: Bearer $API_KEY"`,
  sdk: `const record = await client.status(id);   // once
const included = await client.wait(id);   // until it is in a block; throws the error if it fails`,
  schemas: { ...submissionRecord, ...refusedRecord },
}));
