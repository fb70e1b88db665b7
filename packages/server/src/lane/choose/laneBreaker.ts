import { setBreaker } from "../../store/lanes/setLaneState.js";
import type { LaneDependencies } from "../context.js";
import type { LaneLease } from "../own/lease.js";
import { type Breaker, createBreaker } from "./breaker.js";

/** Five failures in a row open the breaker for a second; each opening doubles that, up to half a minute. */
const LIMITS = { failures: 5, openMs: 1_000, maxOpenMs: 30_000 };

/** After this many exchanges in a row without an answer, the lane gets no new work for `AVOIDED_MS`. */
const MAX_UNANSWERED = 3;
const AVOIDED_MS = 3_000;

/** The breaker of one lane. Every replica sees its state in the store. */
export interface LaneBreaker {
  readonly state: Breaker["state"];
  /** The policies have opened the breaker, and {@link followPolicy} has not closed it since. */
  readonly isOpenedByPolicy: boolean;
  /** No node has answered the last exchanges: the lane signs only what no other lane may carry. */
  readonly isAvoided: boolean;
  /** A node has taken a wrapper of the lane. */
  succeed(): Promise<void>;
  /**
   * Something that lies with this lane has failed.
   * @param severity `decisive` opens the breaker at the first failure; `counted` needs several in a row.
   * @param why for the operator.
   */
  fail(severity: "counted" | "decisive", why: string): Promise<void>;
  /**
   * No node has answered an exchange. After several such exchanges in a row, new work goes to other lanes if any takes
   * work. This lane goes on with what it alone may carry.
   */
  noAnswer(why: string): Promise<void>;
  /**
   * Opens the breaker while the policies permit the waiver nothing, and closes it afterwards.
   * @param reason why they permit nothing; undefined if they permit something.
   */
  followPolicy(reason: string | undefined): Promise<void>;
}

/** The part of the breaker that follows the node's answers. */
export type AnswerBreaker = Pick<LaneBreaker, "succeed" | "fail" | "noAnswer">;

export interface LaneBreakerContext extends Pick<LaneDependencies, "store" | "log" | "routing"> {
  /** Names the owner as which the breaker writes. Without the lease, nothing is written. */
  readonly lease: Pick<LaneLease, "current">;
}

export function createLaneBreaker(
  waiver: Uint8Array,
  { store, log, routing, lease }: LaneBreakerContext,
): LaneBreaker {
  const breaker = createBreaker({ ...LIMITS, now: () => performance.now() });
  let isOpenedByPolicy = false;
  let unanswered = 0;
  /** In ms of the monotonic clock; undefined while nodes answer. */
  let avoidedUntil: number | undefined;
  const write = async (forMs: number, why?: string) => {
    const held = lease.current();
    if (held) await setBreaker(store, held.lane, forMs, why);
  };
  const succeed: LaneBreaker["succeed"] = async () => {
    const wasAvoided = avoidedUntil !== undefined;
    unanswered = 0;
    avoidedUntil = undefined;
    if (!breaker.succeed() && !wasAvoided) return;
    await write(0);
    log.info("the lane's breaker is closed: its waiver can be used again");
  };
  const fail: LaneBreaker["fail"] = async (severity, why) => {
    const forMs = breaker.fail(severity);
    if (forMs === undefined) return;
    await write(forMs, why);
    log.error({ why, forMs }, "the lane's breaker is open");
  };
  return {
    get state() {
      return breaker.state;
    },
    get isOpenedByPolicy() {
      return isOpenedByPolicy;
    },
    get isAvoided() {
      return avoidedUntil !== undefined && performance.now() < avoidedUntil;
    },
    succeed,
    fail,
    async noAnswer(why) {
      unanswered++;
      if (unanswered < MAX_UNANSWERED || breaker.state !== "closed") return;
      // A node that is away may be away for every lane, and some lane must take new work.
      if (!routing.hasOtherLane(waiver)) return;
      if (avoidedUntil === undefined)
        log.warn({ why }, "no node answers this lane, and others get its new work");
      avoidedUntil = performance.now() + AVOIDED_MS;
      await write(AVOIDED_MS, `no node answers: ${why}`);
    },
    async followPolicy(reason) {
      if (reason === undefined) await succeed();
      isOpenedByPolicy = reason !== undefined;
      if (reason !== undefined && breaker.state !== "open") await fail("decisive", reason);
    },
  };
}
