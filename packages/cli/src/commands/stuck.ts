import { defineCommand } from "../command.js";
import { duration, wholeNumber } from "../settings/parsers.js";
import { SOURCE_RULES, SOURCE_SETTINGS, withSubmissions } from "../why/submissionSource.js";
import { causeLines, whyLines } from "../why/whyOutput.js";

export const stuck = defineCommand({
  description:
    "For operators: lists the submissions of all API keys that no block has for some time, the oldest first, under a summary of\n" +
    "the causes with what to do. It reads the database, or asks the admin API with a token. It only reads.",
  examples: ["gas-waiver stuck", "gas-waiver stuck --older-than 1m --limit 5"],
  settings: {
    olderThan: {
      placeholder: "TIME",
      help: "The least time since they were accepted.",
      defaultValue: "10s",
      parse: duration,
    },
    limit: {
      placeholder: "N",
      help: "Most submissions to list, from 1 to 1000.",
      defaultValue: "100",
      parse: wholeNumber(1, 1_000),
    },
    ...SOURCE_SETTINGS,
  },
  rules: SOURCE_RULES,
  async run({ olderThan, limit, ...values }, { print, signal }) {
    const options = { olderThanMs: olderThan, limit };
    const found = await withSubmissions(values, signal, (submissions) => submissions.stuck(options));
    if (values.json) {
      print(JSON.stringify(found));
      return;
    }
    if (found.length === 0) print("nothing is stuck");
    for (const line of [...causeLines(found), ...found.flatMap(whyLines)]) print(line);
  },
});
