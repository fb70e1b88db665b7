import type { NodeVerdict } from "@gas-waiver/server";

/** The parts of a service that `gas-waiver config check` tries, in the order in which they are shown. */
export const AREAS = ["settings", "TLS", "ports", "disk", "database", "custody", "nodes"] as const;
export type Area = (typeof AREAS)[number];

/** The outcome of one check. No text names a secret. */
export interface ConfigFinding {
  readonly area: Area;
  /** The network, in a service of several. */
  readonly network?: string;
  /** The node, port, folder or waiver that was checked. */
  readonly subject: string;
  readonly check: string;
  readonly verdict: NodeVerdict;
  readonly found: string;
  readonly means?: string;
  readonly remedy?: string;
}

export function isRefusal({ verdict }: ConfigFinding): boolean {
  return verdict === "refuses";
}
