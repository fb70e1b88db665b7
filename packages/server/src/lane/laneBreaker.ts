import { setBreaker } from "../store/lanes/setBreaker.js";
import { type Breaker, createBreaker } from "./breaker.js";
import type { LaneDependencies } from "./context.js";

/** Five failures in a row open the breaker for a second; each opening doubles that, up to half a minute. */
const LIMITS = { failures: 5, openMs: 1_000, maxOpenMs: 30_000 };

/** The breaker of one lane. It writes its state into the store, where every replica sees it. */
export interface LaneBreaker {
  readonly state: Breaker["state"];
  /** The policies have opened the breaker, and {@link followPolicy} has not closed it since. */
  readonly isOpenedByPolicy: boolean;
  /** A node has taken a wrapper of the lane. */
  succeed(): Promise<void>;
  /**
   * Something that lies with this lane has failed.
   * @param severity `decisive` opens the breaker at the first failure; `counted` needs several in a row.
   * @param why for the operator.
   */
  fail(severity: "counted" | "decisive", why: string): Promise<void>;
  /**
   * Opens the breaker while the policies permit the waiver nothing, and closes it afterwards.
   * @param reason why they permit nothing; undefined if they permit something.
   */
  followPolicy(reason: string | undefined): Promise<void>;
}

export function createLaneBreaker(
  waiver: Uint8Array,
  { store, log, chainRef }: Pick<LaneDependencies, "store" | "log" | "chainRef">,
): LaneBreaker {
  const breaker = createBreaker({ ...LIMITS, now: () => performance.now() });
  let isOpenedByPolicy = false;
  const succeed: LaneBreaker["succeed"] = async () => {
    if (!breaker.succeed()) return;
    await setBreaker(store, chainRef, waiver, 0, undefined);
    log.info("the lane's breaker is closed: its waiver is of use again");
  };
  const fail: LaneBreaker["fail"] = async (severity, why) => {
    const forMs = breaker.fail(severity);
    if (forMs === undefined) return;
    await setBreaker(store, chainRef, waiver, forMs, why);
    log.error({ why, forMs }, "the lane's breaker is open");
  };
  return {
    get state() {
      return breaker.state;
    },
    get isOpenedByPolicy() {
      return isOpenedByPolicy;
    },
    succeed,
    fail,
    async followPolicy(reason) {
      if (reason === undefined) await succeed();
      isOpenedByPolicy = reason !== undefined;
      if (reason !== undefined && breaker.state !== "open") await fail("decisive", reason);
    },
  };
}
