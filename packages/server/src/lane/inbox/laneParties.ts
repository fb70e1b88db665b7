import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneSnapshot } from "../../store/lanes/queue/laneSnapshot.js";
import { createRecentParties } from "../../util/recentParties.js";

/**
 * The API keys and senders that use a lane at present. While there are several, each gets a share of a step, because
 * everybody waits for the step of the largest: to sign, store and send 198 submissions takes some 100 ms.
 */
export interface LaneParties {
  /** Records whose submissions a step has found. */
  note(snapshot: Pick<LaneSnapshot, "keyIds" | "senders">): void;
  /** The most submissions of one API key in a step of `limit`. */
  shareOfKey(limit: number): number;
  /** The most submissions of one sender in a step of `limit`. */
  shareOfSender(limit: number): number;
  /** Records that a step has placed all ready submissions of a party within its share. */
  noteLight(): void;
  /** Whether somebody who uses no more than a share has used the lane within the last second. */
  readonly hasLight: boolean;
}

/** The most submissions of a key, and of a sender, in a step of a lane that others use too. */
const SHARE = 16;
const RECENT_MS = 1_000;

/** @param now a monotonic clock in ms. */
export function createLaneParties(now: () => number = () => performance.now()): LaneParties {
  const keys = createRecentParties(now);
  const senders = createRecentParties(now);
  let lightAt = Number.NEGATIVE_INFINITY;
  return {
    note(snapshot) {
      for (const key of snapshot.keyIds) keys.note(key);
      for (const { sender } of snapshot.senders) senders.note(bytesToHex(sender));
    },
    shareOfKey: (limit) => (keys.isShared ? Math.min(limit, SHARE) : limit),
    shareOfSender: (limit) => (senders.isShared ? Math.min(limit, SHARE) : limit),
    noteLight() {
      lightAt = now();
    },
    get hasLight() {
      return now() - lightAt < RECENT_MS;
    },
  };
}
