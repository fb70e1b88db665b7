import { performance as measured } from "node:perf_hooks";
import { FairQueue } from "./fairQueue.js";
import { Ledger } from "./ledger.js";
import { createRecentParties } from "./recentParties.js";

export interface LoopQueueDependencies {
  /** A monotonic clock in ms. */
  readonly now?: () => number;
  /** The share of time, from 0 to 1, in which the loop was busy since the last call. */
  readonly measureUse?: () => number;
}

/** The work of one turn of the event loop, in µs. */
const TURN_US = 1_000;
/** The use of the loop that each second pays off, in µs. A party that uses more uses much. */
const PAID_PER_SECOND = 100_000;
/** A party may use so many µs at once before it counts as one that uses much. */
const LIGHT_BURST_US = 25_000;
/** The most that a party owes for its work: a second after its last use, it is one that uses little again. */
const WORK_TERMS = { rateBurst: LIGHT_BURST_US + PAID_PER_SECOND, ratePerSecond: PAID_PER_SECOND };
/** The price of a refused request: each second pays for 200. */
const REFUSAL_US = 500;
/** A party that owes this much waits, whatever else happens: 400 refusals. */
const MAX_DEBT_US = 200_000;
/** Each refusal is paid for, however many there are. */
const REFUSAL_TERMS = { rateBurst: Number.POSITIVE_INFINITY, ratePerSecond: PAID_PER_SECOND };
/** A party counts as active for this long: some times as long as a submission is on its way through the process. */
const ACTIVE_MS = 100;
/** At this use of the loop, whoever comes waits about as long again as the work takes. */
const MAX_USE = 0.5;
/** The use of the loop is measured over at least this long. */
const WINDOW_MS = 10;
/** One of the parties that use much has a turn at least this often. */
const MAX_WAIT_MS = 20;
/** The pause after which parties that had to wait are asked for again. */
const RETRY_MS = 2;

interface WaitingWork {
  readonly party: string;
  readonly part: string;
  readonly account: string;
  readonly price: number;
  readonly start: () => void;
}

/**
 * The one queue for the event loop of the process: whatever takes more than a moment of it goes through here, in the order of a
 * {@link FairQueue}, a millisecond in each turn. Everything in the process waits for the loop, some ten times on the way of one
 * submission. So a party that uses much of it leaves room while one that uses little is active, and a party that is refused too
 * often waits until time has paid for that. Work is charged before it is done, and the rest after it.
 */
export class LoopQueue {
  readonly #now: () => number;
  readonly #measureUse: () => number;
  readonly #debts: Ledger;
  readonly #recent;
  readonly #queue = new FairQueue<WaitingWork>();
  #left = TURN_US;
  #isTurning = false;
  /** The next turn, while nothing that waits may begin. */
  #retry: NodeJS.Timeout | undefined;
  #lastLight: { readonly party: string; readonly part: string; readonly at: number } | undefined;
  #lastHeavyAt = Number.NEGATIVE_INFINITY;
  #use = { measuredAt: Number.NEGATIVE_INFINITY, share: 0 };

  constructor({ now = () => performance.now(), measureUse = createUseMeter() }: LoopQueueDependencies = {}) {
    this.#now = now;
    this.#measureUse = measureUse;
    this.#debts = new Ledger(now);
    this.#recent = createRecentParties(now);
  }

  /** The pieces of work that wait. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether several parties have begun something within the last second. */
  get areSeveralActive(): boolean {
    return this.#recent.isShared;
  }

  /**
   * Calls `start` when it is the party's turn: at once while nothing waits and the party owes little.
   * @param price in µs.
   * @param part of the party, with an account of its own.
   * @returns a function that takes it out of the queue, if it still waits.
   */
  enter(party: string, price: number, start: () => void, part = ""): () => void {
    this.#recent.note(party);
    if (!this.#isTurning) {
      this.#isTurning = true;
      setImmediate(this.#turn);
    }
    const work = { party, part, account: accountOf(party, part), price, start };
    const mustWait = this.#mustWait(work);
    if (this.#left > 0 && this.#queue.isEmpty && !mustWait) {
      this.#start(work);
      return () => {};
    }
    if (!mustWait) this.#endRetryPause();
    return this.#queue.add(party, part, work, price);
  }

  /** Runs work of the event loop when it is the party's turn. @throws whatever it throws. */
  run<T>(party: string, price: number, work: () => T, part = ""): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
        this.#noteActive(party, part);
      };
      this.enter(party, price, start, part);
    });
  }

  /** Charges a party for work that begins beside the queue, in µs. */
  charge(party: string, price: number, part = ""): void {
    this.#charge(accountOf(party, part), price);
  }

  /** Charges a party for a refused request, or for a share of one. */
  refuse(party: string, share = 1): void {
    this.#debts.charge(party, share * REFUSAL_US, REFUSAL_TERMS);
  }

  #charge(account: string, price: number): void {
    // The debt for refusals may be more than work can come to.
    if (this.#debts.debtOf(account, WORK_TERMS) < WORK_TERMS.rateBurst)
      this.#debts.charge(account, price, WORK_TERMS);
  }

  #start({ account, price, start }: WaitingWork): void {
    const startedAt = this.#now();
    this.#charge(account, price);
    start();
    const rest = Math.max(0, (this.#now() - startedAt) * 1_000 - price);
    if (rest > 0) this.#charge(account, rest);
    this.#left -= price + rest;
    if (this.#isHeavy(account)) this.#lastHeavyAt = this.#now();
  }

  #noteActive(party: string, part: string): void {
    if (!this.#isHeavy(accountOf(party, part))) this.#lastLight = { party, part, at: this.#now() };
  }

  /**
   * The debt as one clause: a party waits for what it was refused, and for the parties that use little. The rest of a party leaves
   * room for its parts, and none of them for the rest.
   */
  #mustWait({ party, part, account }: Omit<WaitingWork, "price" | "start">): boolean {
    if (this.#debts.debtOf(party, REFUSAL_TERMS) >= MAX_DEBT_US) return true;
    if (!this.#isHeavy(account)) return false;
    const now = this.#now();
    const light = this.#lastLight;
    if (light === undefined || now - light.at >= ACTIVE_MS) return false;
    const isOther = light.party !== party || (part === "" && light.part !== "");
    return isOther && this.#isLoopBusy() && now - this.#lastHeavyAt < MAX_WAIT_MS;
  }

  #isHeavy(account: string): boolean {
    return this.#debts.debtOf(account, WORK_TERMS) > LIGHT_BURST_US;
  }

  #isLoopBusy(): boolean {
    const now = this.#now();
    if (now - this.#use.measuredAt >= WINDOW_MS) this.#use = { measuredAt: now, share: this.#measureUse() };
    return this.#use.share > MAX_USE;
  }

  readonly #turn = () => {
    this.#left = TURN_US;
    this.#retry = undefined;
    try {
      while (this.#left > 0) {
        const next = this.#queue.take((_party, work) => !this.#mustWait(work));
        if (next === undefined) break;
        this.#start(next);
      }
    } finally {
      // Also after work that has thrown: others wait behind it.
      this.#isTurning = this.#left < TURN_US || !this.#queue.isEmpty;
      if (this.#left < TURN_US) setImmediate(this.#turn);
      else if (this.#isTurning) this.#retry = setTimeout(this.#turn, RETRY_MS).unref();
    }
  };

  /** A party that need not wait does not pay for the pause of parties that have to. */
  #endRetryPause(): void {
    if (this.#retry === undefined) return;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    setImmediate(this.#turn);
  }
}

/** Names the account of a part of a party. */
function accountOf(party: string, part: string): string {
  return part === "" ? party : `${party} ${part}`;
}

function createUseMeter(): () => number {
  let last = measured.eventLoopUtilization();
  return () => {
    const current = measured.eventLoopUtilization();
    const { utilization } = measured.eventLoopUtilization(current, last);
    last = current;
    return utilization;
  };
}
