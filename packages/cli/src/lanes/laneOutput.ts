import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneStatus } from "@gas-waiver/server";

/** A lane as JSON. Programs read these names. */
export function laneJson(lane: LaneStatus) {
  const { state, reason, broken, owner, queued, inFlight, oldestMs, wait } = lane;
  return {
    waiver: bytesToHex(lane.waiver),
    state,
    reason,
    broken,
    owner,
    queued,
    underWay: inFlight,
    oldestMs,
    waitsFor: wait?.sentence,
    waitsForMs: wait?.ms,
  };
}

/** A lane as lines for a person. */
export function laneLines(lane: LaneStatus): string[] {
  const owner = lane.owner === undefined ? "worked by nobody" : `worked by ${lane.owner}`;
  const breaker = lane.broken ? ", its breaker is open" : "";
  const oldest = lane.queued > 0 ? `, the oldest for ${(lane.oldestMs / 1_000).toFixed(1)} s` : "";
  return [
    `${bytesToHex(lane.waiver)}  ${lane.state}${breaker}, ${owner}`,
    ...(lane.reason === undefined ? [] : [`  because ${lane.reason}`]),
    ...(lane.wait === undefined
      ? []
      : [`  waits for ${(lane.wait.ms / 1_000).toFixed(0)} s: ${lane.wait.sentence}`]),
    `  ${lane.queued} queued${oldest}; ${lane.inFlight} signed or broadcast`,
  ];
}
