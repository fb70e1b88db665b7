import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneStatus } from "@gas-waiver/server";

/** A lane as JSON. Programs read these names. */
export function laneJson(lane: LaneStatus) {
  const { state, reason, broken, owner, queued, inFlight, oldestMs } = lane;
  return {
    waiver: bytesToHex(lane.waiver),
    state,
    reason,
    broken,
    owner,
    queued,
    underWay: inFlight,
    oldestMs,
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
    `  ${lane.queued} queued${oldest}; ${lane.inFlight} signed or broadcast`,
  ];
}
