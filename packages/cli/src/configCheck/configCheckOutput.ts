import { wrapped } from "../settings/wrapped.js";
import { AREAS, type ConfigFinding, isRefusal } from "./finding.js";

const INDENT = "  ";
const VERDICT_WIDTH = 12;
const CHECK_WIDTH = 13;

/** The findings as lines for a person: a group for each area, then one sentence for all. */
export function findingLines(findings: readonly ConfigFinding[], width = 120): string[] {
  const groups = AREAS.flatMap((area) => {
    const ofArea = findings.filter((finding) => finding.area === area);
    return ofArea.length === 0 ? [] : [area, ...ofArea.flatMap((finding) => linesOf(finding, width))];
  });
  return [...groups, summaryOf(findings)];
}

function linesOf({ network, subject, check, verdict, found, means, remedy }: ConfigFinding, width: number) {
  const where = [network, subject].filter(Boolean).join(" ");
  const head = `${INDENT}${verdict.padEnd(VERDICT_WIDTH)}${check.padEnd(CHECK_WIDTH)}`;
  const text = [where === "" ? found : `${where}: ${found}`, ...(means ? [means] : [])];
  const all = [...text, ...(remedy ? [`to do: ${remedy}`] : [])];
  const lines = all.flatMap((part) => wrapped(part, Math.max(40, width - head.length)));
  return lines.map((line, i) => `${i === 0 ? head : " ".repeat(head.length)}${line}`);
}

function summaryOf(findings: readonly ConfigFinding[]): string {
  const count = (verdict: ConfigFinding["verdict"]) =>
    findings.filter((finding) => finding.verdict === verdict).length;
  const others = `${count("warning")} warning(s), ${count("not proven")} not proven`;
  return findings.some(isRefusal)
    ? `gas-waiver serve would refuse to start: ${count("refuses")} reason(s), ${others}`
    : `gas-waiver serve would start: ${others}`;
}
