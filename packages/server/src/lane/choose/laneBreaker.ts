import { setBreaker } from "../../store/lanes/setLaneState.js";
import type { LaneDependencies } from "../context.js";
import type { LaneLease } from "../own/lease.js";

/**
 * Keeps new work away from a lane that fails, so that a broken key does not attract the work of other lanes. Every replica
 * sees in the store that the lane rests, and why.
 *
 * - `closed`: the lane works. While it is also *avoided*, it signs only what no other lane may carry.
 * - `open`: the lane takes nothing for a second, twice as long with each opening, up to half a minute.
 * - `probing`: the lane takes one submission at a time. A success closes the breaker, any failure opens it again.
 */
export interface LaneBreaker {
  readonly state: "closed" | "open" | "probing";
  readonly isAvoided: boolean;
  /** A node has taken a wrapper of the lane. */
  succeed(): Promise<void>;
  /**
   * Something has failed that lies with this lane's key alone.
   * @param why for the operator.
   */
  open(why: string): Promise<void>;
  /**
   * An exchange has brought no wrapper of the lane to a node. After some of these in a row, the lane is avoided if any other
   * takes work: a node that is away may be away for every lane, and some lane must take new work.
   */
  avoid(why: string): Promise<void>;
  /**
   * Opens the breaker while the policies permit the waiver nothing, and closes it afterwards.
   * @param reason why they permit nothing; undefined if they permit something.
   */
  followPolicy(reason: string | undefined): Promise<void>;
}

/** The part of the breaker that follows the node's answers. */
export type AnswerBreaker = Pick<LaneBreaker, "succeed" | "open" | "avoid">;

export interface LaneBreakerContext extends Pick<LaneDependencies, "store" | "log" | "routing"> {
  /** Names the owner as which the breaker writes. Without the lease, nothing is written. */
  readonly lease: Pick<LaneLease, "current">;
}

const OPEN_MS = 1_000;
const MAX_OPEN_MS = 30_000;
/** After this many failing exchanges in a row, the lane is avoided for `AVOIDED_MS`. */
const MAX_FAILURES = 3;
const AVOIDED_MS = 3_000;

/** @param now a monotonic clock in ms. */
export function createLaneBreaker(
  waiver: Uint8Array,
  { store, log, routing, lease }: LaneBreakerContext,
  now: () => number = () => performance.now(),
): LaneBreaker {
  let isOpenedByPolicy = false;
  let failures = 0;
  let openings = 0;
  /** The end of the present rest, or of the last one; undefined while the lane works. */
  let restsUntil: number | undefined;
  const isResting = () => restsUntil !== undefined && now() < restsUntil;
  const state = () => (openings === 0 ? "closed" : isResting() ? "open" : "probing");
  const write = async (forMs: number, why?: string) => {
    restsUntil = forMs > 0 ? now() + forMs : undefined;
    const held = lease.current();
    if (held) await setBreaker(store, held.lane, forMs, why);
  };
  const succeed = async () => {
    failures = 0;
    openings = 0;
    if (restsUntil === undefined) return;
    await write(0);
    log.info("the lane's breaker is closed: its waiver can be used again");
  };
  const openAt = async (level: "error" | "info", why: string) => {
    // An open lane only resends old bytes. Their failure tells nothing new: no probe has failed.
    if (state() === "open") return;
    const forMs = Math.min(MAX_OPEN_MS, OPEN_MS * 2 ** openings);
    openings++;
    await write(forMs, why);
    log[level]({ why, forMs }, "the lane's breaker is open");
  };
  const open = (why: string) => openAt("error", why);
  return {
    get state() {
      return state();
    },
    get isAvoided() {
      return openings === 0 && isResting();
    },
    succeed,
    open,
    async avoid(why) {
      if (openings > 0) return await open(why);
      failures++;
      if (failures < MAX_FAILURES || !routing.hasOtherLane(waiver)) return;
      if (restsUntil === undefined)
        log.warn({ why }, "no node takes what this lane sends, and others get its new work");
      await write(AVOIDED_MS, why);
    },
    async followPolicy(reason) {
      if (isOpenedByPolicy && reason === undefined) await succeed();
      isOpenedByPolicy = reason !== undefined;
      // The source of the policies logs which waiver wants a person. The policy of a new one is read within a moment.
      if (reason !== undefined) await openAt("info", reason);
    },
  };
}
