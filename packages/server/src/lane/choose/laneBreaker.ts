import { setBreaker } from "../../store/lanes/setLaneState.js";
import type { LaneDependencies } from "../context.js";
import type { LaneLease } from "../own/lease.js";

/**
 * Keeps new work away from a lane that fails, so that a broken key does not attract the work of other lanes. Every replica
 * sees in the store that the lane rests, and why.
 *
 * - `closed`: the lane works.
 * - `open`: the lane takes nothing for a second, twice as long with each opening, up to half a minute.
 * - `probing`: the lane takes one submission at a time. A success closes the breaker, any failure opens it again.
 */
export type LaneBreaker = ReturnType<typeof createLaneBreaker>;

/** The part of the breaker that follows the node's answers. */
export type AnswerBreaker = Pick<LaneBreaker, "succeed" | "open" | "avoid">;

export interface LaneBreakerContext extends Pick<LaneDependencies, "store" | "log" | "routing"> {
  /** Names the owner as which the breaker writes. Without the lease, nothing is written. */
  readonly lease: Pick<LaneLease, "current">;
}

const OPEN_MS = 1_000;
const MAX_OPEN_MS = 30_000;
/** After this many failing exchanges in a row, other lanes get the work. */
const MAX_FAILURES = 3;

/** @param now a monotonic clock in ms. */
export function createLaneBreaker(
  waiver: Uint8Array,
  { store, log, routing, lease }: LaneBreakerContext,
  now: () => number = () => performance.now(),
) {
  let failures = 0;
  let openings = 0;
  /** The end of the present rest, or of the last one. */
  let restsUntil = Number.NEGATIVE_INFINITY;
  const state = () => (openings === 0 ? "closed" : now() < restsUntil ? "open" : "probing");
  const write = async (forMs: number, why?: string) => {
    restsUntil = now() + forMs;
    const held = lease.current();
    if (held) await setBreaker(store, held.lane, forMs, why);
  };
  const openAt = async (level: "error" | "warn", why: string) => {
    // An open lane only resends old bytes. Their failure tells nothing new: no probe has failed.
    if (state() === "open") return;
    const forMs = Math.min(MAX_OPEN_MS, OPEN_MS * 2 ** openings);
    openings++;
    await write(forMs, why);
    log[level]({ why, forMs }, "the lane's breaker is open");
  };
  return {
    get state() {
      return state();
    },
    /** A node has taken a wrapper of the lane. */
    async succeed() {
      failures = 0;
      if (openings === 0) return;
      openings = 0;
      await write(0);
      log.info("the lane's breaker is closed: its waiver can be used again");
    },
    /**
     * Something has failed that lies with this lane's key alone.
     * @param why for the operator.
     */
    open: (why: string) => openAt("error", why),
    /**
     * An exchange has brought no wrapper of the lane to a node. After some of these in a row, the breaker opens if any other lane
     * takes work: a node that is away may be away for every lane, and some lane must take new work.
     */
    async avoid(why: string) {
      failures++;
      if (openings > 0 || (failures >= MAX_FAILURES && routing.hasOtherLane(waiver)))
        await openAt("warn", why);
    },
  };
}
