import { defineCommand } from "../command.js";
import { duration, wholeNumber } from "../settings/parsers.js";
import { SOURCE_RULES, SOURCE_SETTINGS, withSubmissions } from "../why/submissionSource.js";
import { causeLines, whyLines } from "../why/whyOutput.js";

/** One question to the admin API asks for no more. */
const MOST_COUNTED = 1_000;

export const stuck = defineCommand({
  description:
    "For operators: counts the submissions of all API keys that no block has for some time by their causes, with what to do, and\n" +
    "lists the oldest. It reads the database, or asks the admin API with a token. It only reads.",
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
      help: `Most submissions to list under the summary, from 1 to ${MOST_COUNTED}.`,
      defaultValue: "10",
      parse: wholeNumber(1, MOST_COUNTED),
    },
    ...SOURCE_SETTINGS,
  },
  rules: SOURCE_RULES,
  async run({ olderThan, limit, ...values }, { print, signal }) {
    const options = { olderThanMs: olderThan, limit: values.json ? limit : MOST_COUNTED };
    const found = await withSubmissions(values, signal, (submissions) => submissions.stuck(options));
    if (values.json) {
      print(JSON.stringify(found));
      return;
    }
    if (found.length === 0) print("nothing is stuck");
    for (const line of causeLines(found)) print(line);
    const all = found.length < MOST_COUNTED ? found.length : `${MOST_COUNTED} or more`;
    if (found.length > limit) print(`the oldest ${limit} of ${all}:`);
    for (const line of found.slice(0, limit).flatMap(whyLines)) print(line);
  },
});
