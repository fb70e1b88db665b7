import type { NodeVerdict } from "@gas-waiver/server";
import { wrapped } from "../settings/wrapped.js";

/** The parts of a service that `gas-waiver config check` tries, in the order in which they are shown. */
export const AREAS = ["settings", "TLS", "ports", "disk", "database", "custody", "nodes"] as const;
export type Area = (typeof AREAS)[number];

/** The outcome of one check. No text names a secret. */
export interface ConfigFinding extends Judged {
  readonly area: Area;
  /** The network, in a service of several. */
  readonly network?: string;
  /** The node, port, folder or waiver that was checked. */
  readonly subject: string;
}

/** The part that findings about settings and about nodes have in common. */
interface Judged {
  readonly check: string;
  readonly verdict: NodeVerdict;
  readonly found: string;
  readonly means?: string;
  readonly remedy?: string;
}

const VERDICT_WIDTH = 12;

/** A finding as lines for a person, which wrap at the width. */
export function linesOf({ check, verdict, found, means, remedy }: Judged, checkWidth: number, width: number) {
  const head = `  ${verdict.padEnd(VERDICT_WIDTH)}${check.padEnd(checkWidth)}`;
  const parts = [found, means ?? [], remedy ? `to do: ${remedy}` : []].flat();
  const lines = parts.flatMap((part) => wrapped(part, Math.max(40, width - head.length)));
  return lines.map((line, i) => `${i === 0 ? head : " ".repeat(head.length)}${line}`);
}

/** One sentence for all findings. */
export function summaryOf(findings: readonly Judged[]): string {
  const count = (verdict: NodeVerdict) => findings.filter((finding) => finding.verdict === verdict).length;
  const others = `${count("warning")} warning(s), ${count("not proven")} not proven`;
  return refusesStart(findings)
    ? `gas-waiver serve would refuse to start: ${count("refuses")} reason(s), ${others}`
    : `gas-waiver serve would start: ${others}`;
}

export function refusesStart(findings: readonly Judged[]): boolean {
  return findings.some(({ verdict }) => verdict === "refuses");
}
