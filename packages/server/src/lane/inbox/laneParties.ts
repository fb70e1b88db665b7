import { bytesToHex } from "@gas-waiver/protocol";
import type { QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import { createRecentParties } from "../../util/recentParties.js";

/**
 * The API keys and senders that use a lane at present. While there are several, each gets a share of a step, because
 * everybody waits for the step of the largest: to sign, store and send 198 submissions takes some 100 ms.
 */
export interface LaneParties {
  /** Records whose submissions a step has found. */
  note(submissions: readonly Pick<QueuedSubmission, "keyId" | "sender">[]): void;
  /** The most submissions of one API key in a step of `limit`. */
  shareOfKey(limit: number): number;
  /** The most submissions of one sender in a step of `limit`. */
  shareOfSender(limit: number): number;
}

/** The most submissions of a key, and of a sender, in a step of a lane that others use too. */
const SHARE = 16;

/** @param now a monotonic clock in ms. */
export function createLaneParties(now: () => number = () => performance.now()): LaneParties {
  const keys = createRecentParties(now);
  const senders = createRecentParties(now);
  return {
    note(submissions) {
      for (const { keyId, sender } of submissions) {
        keys.note(keyId);
        senders.note(bytesToHex(sender));
      }
    },
    shareOfKey: (limit) => (keys.isShared ? Math.min(limit, SHARE) : limit),
    shareOfSender: (limit) => (senders.isShared ? Math.min(limit, SHARE) : limit),
  };
}
