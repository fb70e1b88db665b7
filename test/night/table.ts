import type { NightResult, TroubleReport } from "./runNight.js";

const HEAD = ["trouble", "signal", "not ready", "alarm", "end", "remedy"];
const seconds = (value: number | undefined) => (value === undefined ? "—" : value.toFixed(0));

const rowOf = ({ text, signalS, unreadyS, alarmS, endS, remedy, skipped }: TroubleReport) =>
  skipped === undefined
    ? [text, ...[signalS, unreadyS, alarmS, endS].map(seconds), remedy]
    : [text, `skipped: ${skipped}`, "", "", "", ""];

/** The table of a night, in Markdown: times in seconds, that of the end counted from the remedy. */
export function tableOf({ troubles, transactions, findings }: NightResult): string {
  const rows = [HEAD, HEAD.map(() => "---"), ...troubles.map(rowOf)];
  const count = (...violations: string[]) =>
    findings.filter(({ violation }) => violations.includes(violation)).length;
  const ends = [
    `${transactions} transactions; lost ${count("lost")}, doubled ${count("doubled")}`,
    `falsely told ${count("falseSuccess", "falseFailure", "needlessFailure")}, unresolved ${count("unresolved")}`,
    `nonces out of order ${count("nonceGaps")}`,
  ];
  return `${rows.map((row) => `| ${row.join(" | ")} |`).join("\n")}\n\n${ends.join(", ")}`;
}
