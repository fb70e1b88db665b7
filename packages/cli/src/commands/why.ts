import type { ExplainedSubmission } from "@gas-waiver/server";
import { defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { SERVE_SETTINGS } from "../serve/serveSettings.js";
import { duration, wholeNumber } from "../settings/parsers.js";
import { InvalidValueError } from "../settings/setting.js";
import { problemsOfSource, SOURCE_SETTINGS, withSubmissions } from "../why/submissionSource.js";

const NAME = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|0x[0-9a-f]{64}|0x[0-9a-f]{40})$/i;

export const why = defineCommand({
  description:
    "For operators: finds submissions of any API key by the id of a line, the hash of the transaction or of a wrapper, or the\n" +
    "address of the sender, and tells where each stands, what it waits for, what the node said last, and what to do. It reads\n" +
    "the database, or asks the admin API with a token. It only reads.",
  examples: [
    "gas-waiver why 0x…",
    "GAS_WAIVER_ADMIN_TOKEN=… gas-waiver why 0x… --admin-url http://127.0.0.1:8081",
  ],
  failure: "nothing has this name",
  settings: {
    name: {
      positional: true,
      placeholder: "ID|HASH|SENDER",
      help: "The id of a submission, the hash of its transaction or of a wrapper, or the address of a sender.",
      required: true,
      parse(value: string): string {
        if (NAME.test(value)) return value.toLowerCase();
        throw new InvalidValueError("is neither the id of a submission, a hash, nor an address");
      },
    },
    rpcUrl: {
      ...SERVE_SETTINGS.rpcUrl,
      help: "JSON-RPC of nodes, which know the wrappers of submissions that are final. The admin API has its own.",
      required: false,
    },
    ...SOURCE_SETTINGS,
  },
  check: problemsOfSource,
  async run({ name, ...values }, { print, signal }) {
    const found = await withSubmissions(values, signal, (submissions) => submissions.why(name));
    if (values.json) print(JSON.stringify(found));
    else for (const line of found.flatMap(whyLines)) print(line);
    if (found.length > 0) return;
    const hint = values.adminUrl === undefined && values.rpcUrl === undefined && name.length === 66;
    throw new CommandFailedError(
      `the service has no submission by the name ${name}${hint ? "; --rpc-url finds the wrappers of final ones" : ""}`,
    );
  },
});

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
  check: problemsOfSource,
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

/** An explained submission as lines for a person: what and why first, then the facts. */
function whyLines({
  record,
  keyId,
  ageSeconds,
  lane,
  owner,
  why,
  nodeSaid,
  next,
}: ExplainedSubmission): string[] {
  const { id, state, txHash, sender, nonce, wrapperHash, waiverNonce } = record;
  const wrapper = wrapperHash === undefined ? [] : [`  wrapper ${wrapperHash}, nonce ${waiverNonce}`];
  return [
    `${id}  ${state}, accepted ${ageSeconds} s ago by key ${keyId}`,
    `  why: ${why}`,
    ...(nodeSaid === undefined ? [] : [`  the node said: ${nodeSaid}`]),
    `  next: ${next}`,
    `  transaction ${txHash}, of ${sender} with nonce ${nonce}`,
    ...wrapper,
    `  lane ${lane}, worked by ${owner ?? "nobody"}`,
  ];
}

/** The causes of many stuck submissions, the most frequent first. */
function causeLines(submissions: readonly ExplainedSubmission[]): string[] {
  const counts = new Map<string, number>();
  for (const { why, next } of submissions) {
    const cause = `${why}\n  next: ${next}`;
    counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .flatMap(([cause, count]) => `${count} × ${cause}`.split("\n"));
}
