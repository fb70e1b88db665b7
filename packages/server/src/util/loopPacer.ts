import { performance } from "node:perf_hooks";
import { Ledger } from "./ledger.js";

/**
 * Keeps room on the event loop for parties that use little of it. Everything in the process waits for the loop, some ten
 * times on the way of one submission, so a party that fills the loop delays all others, however fairly they take turns.
 */
export interface LoopPacer {
  /** Records that a party has used the loop, or will at once. */
  charge(party: string, ms: number): void;
  /**
   * Whether the party has to wait: it has used much of the loop, a party that uses little of it is active, and the loop was
   * busy for more than 30 % of the last while. Now and then it need not wait, so that it is never held up for good.
   */
  mustWait(party: string): boolean;
  /** The time in ms after which to ask again about a party that has to wait. */
  readonly retryMs: number;
}

export interface LoopPacerDependencies {
  /** A monotonic clock in ms. */
  readonly now?: () => number;
  /** The share of time, from 0 to 1, in which the loop was busy since the last call. */
  readonly measureUse?: () => number;
}

/** A party that uses more of the loop than this, in ms each second, uses much. */
const LIGHT_MS_PER_SECOND = 100;
/** A party may use so many ms at once before it counts as one that uses much. */
const LIGHT_BURST_MS = 25;
/** A party counts as active for this long. */
const ACTIVE_MS = 1_000;
/** The most that a party can owe: a second after its last use, it is one that uses little again. */
const LOOP_TERMS = { burst: LIGHT_BURST_MS + LIGHT_MS_PER_SECOND, perSecond: LIGHT_MS_PER_SECOND };
const MAX_USE = 0.3;
/** The use of the loop is measured over at least this long. */
const WINDOW_MS = 10;
/** The parties that have to wait take a turn at least this often, one of them at a time. */
const MAX_WAIT_MS = 20;
const RETRY_MS = 2;

export function createLoopPacer({
  now = () => performance.now(),
  measureUse = createUseMeter(),
}: LoopPacerDependencies = {}): LoopPacer {
  const debts = new Ledger(now);
  let lastLight: { readonly party: string; readonly at: number } | undefined;
  let lastHeavyAt = Number.NEGATIVE_INFINITY;
  let measuredAt = Number.NEGATIVE_INFINITY;
  let use = 0;
  const isHeavy = (party: string) => debts.debtOf(party, LOOP_TERMS) > LIGHT_BURST_MS;
  const isLoopBusy = () => {
    if (now() - measuredAt >= WINDOW_MS) {
      use = measureUse();
      measuredAt = now();
    }
    return use > MAX_USE;
  };
  return {
    retryMs: RETRY_MS,
    charge(party, ms) {
      const at = now();
      debts.charge(party, ms, LOOP_TERMS);
      if (isHeavy(party)) lastHeavyAt = at;
      else lastLight = { party, at };
    },
    mustWait(party) {
      if (!isHeavy(party)) return false;
      const hasLightOther =
        lastLight !== undefined && lastLight.party !== party && now() - lastLight.at < ACTIVE_MS;
      return hasLightOther && isLoopBusy() && now() - lastHeavyAt < MAX_WAIT_MS;
    },
  };
}

function createUseMeter(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const current = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(current, last);
    last = current;
    return utilization;
  };
}
