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

/** Tells what the node does not show of a lane, a line each, for a person. */
export function lossLines({ lost, missing, chainNonce }: LaneFindings): string[] {
  return [...(lost ? [lossLine(lost, chainNonce)] : []), ...(missing ? [missingLine(missing)] : [])];
}

function lossLine(
  { blockNumber, waiverNonce, found }: NonNullable<LaneFindings["lost"]>,
  chainNonce: bigint,
) {
  const nonce = waiverNonce === undefined ? "" : `, with the waiver's nonce ${waiverNonce}`;
  const recorded = `the store has a submission in block ${blockNumber}${nonce}`;
  switch (found) {
    case "another block":
      return `${recorded}; the node has another block there: the chain was taken back or restored, or the node is a wrong one`;
    case "no block":
      return `${recorded}; the node has no such block: the chain was taken back or restored, or the node is behind`;
    case "unused nonce":
      return `${recorded}; the node's next nonce is ${chainNonce}`;
  }
}

function missingLine({ lowest, highest }: NonNullable<LaneFindings["missing"]>): string {
  const which = lowest === highest ? `nonce ${lowest} is` : `nonces ${lowest} to ${highest} are`;
  return `${which} missing before those that wait: no submission has one`;
}

function laneFindingsJson(found: LaneFindings) {
  const { lane, chainNonce, assigned, findings, lost, missing, repaired } = found;
  const differences = findings.map(({ candidate, outcome }) => ({
    suspect: candidate,
    fate: { ...outcome, kind: OUTCOMES[outcome.kind].json },
  }));
  return {
    lane: laneJson(lane),
    chainNonce,
    taken: assigned,
    findings: differences,
    lost,
    missing,
    repaired,
  };
}

function jsonValue(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? bytesToHex(value) : value;
}
