import { SUBMISSION_ID } from "../../wire/schema/index.js";
import type { RouteDescription } from "./RouteDescription.js";

export const SUBMISSION: RouteDescription = {
  summary: "What became of a submission",
  text: [
    "The record of one submission: its state, what is known of the chain's side, and when it is in a block, where. A key sees only its own submissions.",
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
