import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneFindings } from "@gas-waiver/server";
import { laneJson } from "./laneOutput.js";

/** The outcomes of a submission on the chain, by the name in the JSON and as text for a person. */
export const OUTCOMES = {
  included: { json: "included", text: "the chain has executed it; it becomes included" },
  nonceUsed: {
    json: "overtaken",
    text: "the sender's nonce is used, and its transaction has no receipt; it becomes failed (NONCE_TOO_LOW) if a final block shows another use of the nonce",
  },
  replaced: {
    json: "displaced",
    text: "the waiver's nonce is used, and its transaction has no receipt; it is queued again if a final block shows another transaction under the nonce",
  },
} as const;

/** The findings of all lanes as JSON. Programs read these names. */
export function findingsJson(found: readonly LaneFindings[]): string {
  return JSON.stringify(found.map(laneFindingsJson), jsonValue);
}

function laneFindingsJson({ lane, chainNonce, assigned, findings, repaired }: LaneFindings) {
  const differences = findings.map(({ candidate, outcome }) => ({
    suspect: candidate,
    fate: { ...outcome, kind: OUTCOMES[outcome.kind].json },
  }));
  return { lane: laneJson(lane), chainNonce, taken: assigned, findings: differences, repaired };
}

function jsonValue(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? bytesToHex(value) : value;
}
