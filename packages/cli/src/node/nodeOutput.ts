import type { NodeFinding } from "@gas-waiver/server";

/** The findings as text for a person, a group for each node, with the meaning of what is not ok. */
export function findingLines(findings: readonly NodeFinding[]): string[] {
  const nodes = [...new Set(findings.map(({ node }) => node))];
  return nodes.flatMap((node) => [
    node === "all" ? "all nodes" : `node ${node}`,
    ...findings.filter((finding) => finding.node === node).flatMap(linesOf),
  ]);
}

function linesOf({ check, verdict, found, means, remedy }: NodeFinding): string[] {
  const margin = " ".repeat(26);
  return [
    `  ${verdict.padEnd(12)}${check.padEnd(12)}${found}`,
    ...(means === undefined ? [] : [`${margin}${means}`]),
    ...(remedy === undefined ? [] : [`${margin}to do: ${remedy}`]),
  ];
}

/** One sentence for all findings. */
export function summaryOf(findings: readonly NodeFinding[]): string {
  const count = (verdict: NodeFinding["verdict"]) =>
    findings.filter((finding) => finding.verdict === verdict).length;
  const otherCounts = `${count("warning")} warning(s), ${count("not proven")} not proven`;
  return refusesStart(findings)
    ? `gas-waiver serve would refuse to start: ${count("refuses")} reason(s), ${otherCounts}`
    : `gas-waiver serve would start: ${otherCounts}`;
}

export function refusesStart(findings: readonly NodeFinding[]): boolean {
  return findings.some(({ verdict }) => verdict === "refuses");
}
