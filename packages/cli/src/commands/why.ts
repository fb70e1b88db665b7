import { defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { SERVE_SETTINGS } from "../serve/serveSettings.js";
import { InvalidValueError } from "../settings/setting.js";
import { SOURCE_RULES, SOURCE_SETTINGS, withSubmissions } from "../why/submissionSource.js";
import { whyLines } from "../why/whyOutput.js";

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
  rules: SOURCE_RULES,
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
