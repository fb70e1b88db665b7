import { type AuditRecord, openAudit } from "@gas-waiver/server";
import { type Context, defineCommand } from "../command.js";
import { wholeNumber } from "../settings/parsers.js";
import { STORE_SETTINGS, withStore } from "../store/withStore.js";

export const audit = defineCommand({
  description:
    "Changes of keys, commands to lanes, the keys and tokens that a start has read, and failed authentications, with\n" +
    "their actors and addresses. Entries never change, are never removed, and hold no secret. With --follow the command\n" +
    "goes on with each new entry, the oldest first, until it is ended.",
  examples: [
    "gas-waiver audit --limit 20",
    "gas-waiver audit --follow --after 0 --json >>/var/log/gas-waiver-audit.jsonl",
  ],
  settings: {
    limit: {
      placeholder: "N",
      help: "Most entries to show, from 1 to 10000: the latest.",
      defaultValue: "100",
      parse: wholeNumber(1, 10_000),
    },
    follow: { help: "Show new entries as they come." },
    after: {
      placeholder: "ID",
      help: "With --follow: begin after the entry with this id; 0 begins with the first.",
      defaultText: "the latest --limit entries",
      parse: wholeNumber(0),
    },
    ...STORE_SETTINGS,
    json: { ...STORE_SETTINGS.json, help: "Print one JSON object a line, for programs." },
  },
  check: ({ follow, after }) =>
    after !== undefined && follow !== true ? ["--after is given without --follow"] : [],
  async run(values, { print, signal }) {
    const { limit, follow, after, json } = values;
    await withStore(values, openAudit, async (entries) => {
      const printEntry = printerOf(json, print);
      if (after === undefined) {
        const latest = await entries.list({ limit });
        for (const entry of follow ? latest.reverse() : latest) printEntry(entry);
        if (follow)
          for await (const entry of entries.follow(latest.at(-1)?.id ?? "0", signal)) printEntry(entry);
      } else for await (const entry of entries.follow(String(after), signal)) printEntry(entry);
    });
  },
});

function printerOf(json: boolean | undefined, print: Context["print"]): (entry: AuditRecord) => void {
  return (entry) => {
    if (json) print(JSON.stringify(entry));
    else for (const line of auditLines(entry)) print(line);
  };
}

/** An entry of the audit as lines. */
export function auditLines(entry: AuditRecord): string[] {
  const { at, actor, action, keyId, waiver, tokenId, source, changes } = entry;
  const values = Object.entries(changes).map(([name, { from, to }]) => {
    const before = from === undefined ? "" : `${JSON.stringify(from)} → `;
    return `  ${name}: ${before}${to === undefined ? "none" : JSON.stringify(to)}`;
  });
  const subject = [keyId, waiver].flatMap((one) => (one === undefined ? [] : ` ${one}`)).join("");
  const token = tokenId === undefined ? "" : ` (${tokenId})`;
  const address = source === undefined ? "" : ` from ${source}`;
  return [`${at}  ${action}${subject} by ${actor}${token}${address}`, ...values];
}
