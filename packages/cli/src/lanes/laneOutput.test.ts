import type { LaneFindings, LaneStatus } from "@gas-waiver/server";
import { expect, it } from "vitest";
import { findingsJson } from "./findingsOutput.js";
import { laneJson } from "./laneOutput.js";

const WAIVER = `0x${"22".repeat(20)}`;
const lane: LaneStatus = {
  waiver: new Uint8Array(20).fill(0x22),
  state: "open",
  reason: undefined,
  broken: false,
  owner: "a replica",
  queued: 3,
  inFlight: 2,
  oldestMs: 1_500,
  oldestInFlightMs: 0,
  setAside: 0,
  foreignUses: 0,
  hasUnfinalized: false,
  hasWithdrawn: false,
  hasOpenWrapper: false,
  knownBelow: 0n,
  wait: undefined,
};
const laneAsJson = {
  ...{ waiver: WAIVER, state: "open", broken: false, owner: "a replica" },
  ...{ queued: 3, underWay: 2, oldestMs: 1_500 },
};

it("prints a lane as JSON under names that programs rely on", () => {
  expect(JSON.parse(JSON.stringify(laneJson(lane)))).toEqual(laneAsJson);
});

it("prints the findings of a lane as JSON under names that programs rely on", () => {
  const candidate = {
    ...{ id: "an id", innerHash: new Uint8Array(2), sender: new Uint8Array(2), senderNonce: 4n },
    ...{ signings: 1, strikes: 0, waiverNonce: 7n, state: "signed" as const },
  };
  const found: LaneFindings = {
    lane,
    chainNonce: 8n,
    assigned: { lowest: 8n, highest: 9n, count: 2 },
    findings: [
      { candidate, outcome: { kind: "nonceUsed", next: 5n } },
      { candidate, outcome: { kind: "replaced" } },
    ],
    lost: { blockNumber: 12n, waiverNonce: 8n, found: "another block" },
    missing: undefined,
    repaired: false,
  };
  const suspect = {
    ...{ id: "an id", innerHash: "0x0000", sender: "0x0000", senderNonce: "4" },
    ...{ signings: 1, strikes: 0, waiverNonce: "7", state: "signed" },
  };
  expect(JSON.parse(findingsJson([found]))).toEqual([
    {
      lane: laneAsJson,
      chainNonce: "8",
      taken: { lowest: "8", highest: "9", count: 2 },
      findings: [
        { suspect, fate: { kind: "overtaken", next: "5" } },
        { suspect, fate: { kind: "displaced" } },
      ],
      lost: { blockNumber: "12", waiverNonce: "8", found: "another block" },
      repaired: false,
    },
  ]);
});
