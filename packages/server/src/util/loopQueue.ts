import { performance as measured } from "node:perf_hooks";
import { FairQueue } from "./fairQueue.js";
import { Ledger } from "./ledger.js";

export interface LoopQueueDependencies {
  /** A monotonic clock in ms. */
  readonly now?: () => number;
  /** The share of time, from 0 to 1, in which the loop was busy since the last call. */
  readonly measureUse?: () => number;
}

/** The part of a party that has its small requests, and its reads and calls: what the large ones take leaves room for it. */
export const SMALL = "small";

/** The work of one turn of the event loop, in µs. */
const TURN_US = 1_000;
/** The use of the loop that each second pays off for one party, in µs, where few owe something. */
const PAID_PER_SECOND = 100_000;
/** The use of the loop that each second pays off for all parties together: those that owe something have equal shares. */
const SHARED_PER_SECOND = 500_000;
/** A party may use what so many seconds pay off before it counts as heavy, and in any case a few requests. */
const LIGHT_SECONDS = 0.25;
const LEAST_BURST_US = 2_000;
/** The price of a refused request: each second pays for 200. */
const REFUSAL_US = 500;
/** A party that owes this much waits, whatever else happens: 400 refusals. */
const MAX_DEBT_US = 200_000;
/** Each refusal is paid for, however many there are. */
const REFUSAL_TERMS = { rateBurst: Number.POSITIVE_INFINITY, ratePerSecond: PAID_PER_SECOND };
/** A party counts as at work for this long: some times as long as a submission is on its way through the process. */
const ACTIVE_MS = 100;
/** The parts of one party: beside so many, the latest work is also that of another party. */
const PARTS = 2;
/** At this use of the loop, whoever comes waits about as long again as the work takes. */
const MAX_USE = 0.5;
/** The use of the loop is measured over at least this long. */
const WINDOW_MS = 10;
/** The heavy parties have a turn at least this often, or else this share of the loop, however large a piece of their work is. */
const MAX_WAIT_MS = 20;
const HEAVY_SHARE = 0.2;
/** The pause after which parties that had to wait are asked for again. */
const RETRY_MS = 2;

interface WaitingWork {
  readonly party: string;
  readonly part: string;
  readonly price: number;
  /** Whether its party had used more than its share when the work came, or uses more with this one piece. */
  readonly isHeavy: boolean;
  readonly start: () => void;
}

/** Work of a party within its share. */
interface LightWork {
  readonly party: string;
  readonly part: string;
  readonly at: number;
}

/**
 * The one queue for the event loop of the process: whatever takes more than a moment of it goes through here, in the order of a
 * {@link FairQueue}, a millisecond in each turn. Everything in the process waits for the loop, some ten times on the way of one
 * submission. So a party that uses more than its share of it leaves room while one that uses less is active, and a party that is
 * refused too often waits until time has paid for that. Work is charged when it comes, and the rest after it.
 *
 * The keys have equal shares of half of the loop, and so have the addresses under a key within its share. A site of IPv6 networks is one
 * of them, since anybody may have one with 65,536 networks, of which none was ever seen.
 */
export class LoopQueue {
  readonly #now: () => number;
  readonly #measureUse: () => number;
  /** By keys, and within them by sites, addresses and parts. */
  readonly #debts: Ledger;
  readonly #refused: Ledger;
  /** The work of parties within their shares goes first. */
  readonly #light = new FairQueue<WaitingWork>(LEAST_BURST_US);
  readonly #heavy = new FairQueue<WaitingWork>(LEAST_BURST_US);
  #left = TURN_US;
  #isTurning = false;
  /** The next turn, while nothing that waits may begin. */
  #retry: NodeJS.Timeout | undefined;
  /** The work of parties within their shares that was begun last: of so many parts, the latest first. */
  #lastLight: readonly LightWork[] = [];
  /** The heavy parties have had a turn, and make room until then. */
  #heavyRestUntil = Number.NEGATIVE_INFINITY;
  #use = { measuredAt: Number.NEGATIVE_INFINITY, share: 0 };

  constructor({ now = () => performance.now(), measureUse = createUseMeter() }: LoopQueueDependencies = {}) {
    this.#now = now;
    this.#measureUse = measureUse;
    this.#debts = new Ledger(now, (parties) => SHARED_PER_SECOND / parties);
    this.#refused = new Ledger(now);
  }

  /** The pieces of work that wait. */
  get waiting(): number {
    return this.#light.size + this.#heavy.size;
  }

  /**
   * Calls `start` when it is the party's turn: at once while nothing waits and the party owes little.
   * @param party a key, or a key and an address behind a space.
   * @param price in µs.
   * @param part of the party, with an account of its own.
   * @returns a function that takes it out of the queue, if it still waits.
   */
  enter(party: string, price: number, start: () => void, part = ""): () => void {
    if (!this.#isTurning) {
      this.#isTurning = true;
      setImmediate(this.#turn);
    }
    const work = { party, part, price, isHeavy: this.#charge(party, part, price), start };
    const queue = work.isHeavy ? this.#heavy : this.#light;
    const mustWait = this.#mustWait(work);
    if (this.#left > 0 && queue.isEmpty && this.#light.isEmpty && !mustWait) {
      this.#start(work);
      return () => {};
    }
    if (!mustWait) this.#endRetryPause();
    return queue.add(pathOf(party, part), work, price);
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
      };
      this.enter(party, price, start, part);
    });
  }

  /** Charges a party for work that begins beside the queue, in µs. */
  charge(party: string, price: number, part = ""): void {
    this.#charge(party, part, price);
  }

  /** Charges a party for a refused request, or for a share of one. */
  refuse(party: string, share = 1): void {
    this.#charge(party, "", share * REFUSAL_US);
    this.#refused.charge(party, share * REFUSAL_US, REFUSAL_TERMS);
  }

  /**
   * Keys have equal shares; so have addresses and sites within the share of a key, and the parts within that of an address. A second after
   * its last use, a party is light again, whatever it did before.
   * @returns whether the part has used more than its share, or does now with this one piece of work.
   */
  #charge(party: string, part: string, price: number): boolean {
    let [debts, isHeavy] = [this.#debts, false];
    const path = pathOf(party, part);
    for (const [level, name] of path.entries()) {
      const { share } = debts;
      const light = Math.max(LEAST_BURST_US, LIGHT_SECONDS * share);
      isHeavy = Math.max(price, debts.debtOf(name)) > light;
      debts.charge(name, price, { rateBurst: light + share, ratePerSecond: 1 });
      if (level < path.length - 1)
        debts = debts.partsOf(name, (parties) => Math.min(PAID_PER_SECOND, share / parties));
    }
    return isHeavy;
  }

  #start({ party, part, price, isHeavy, start }: WaitingWork): void {
    const startedAt = this.#now();
    start();
    const rest = Math.max(0, (this.#now() - startedAt) * 1_000 - price);
    if (rest > 0) this.#charge(party, part, rest);
    this.#left -= price + rest;
    if (isHeavy) {
      const restMs = (price + rest) / 1_000 / HEAVY_SHARE;
      this.#heavyRestUntil = this.#now() + Math.max(MAX_WAIT_MS, restMs);
    } else {
      const others = this.#lastLight.filter((one) => one.party !== party || one.part !== part);
      this.#lastLight = [{ party, part, at: this.#now() }, ...others.slice(0, PARTS)];
    }
  }

  /**
   * The debt as one clause: a party waits for what it was refused, and for the parties within their shares. The rest of a party leaves
   * room for its parts, and none of them for the rest.
   */
  #mustWait({ party, part, isHeavy }: WaitingWork): boolean {
    const isBefore = (light: LightWork) => light.party !== party || (part === "" && light.part !== "");
    if (isHeavy && this.#lightsAtWork().some(isBefore)) return true;
    return this.#refused.debtOf(party, REFUSAL_TERMS) >= MAX_DEBT_US;
  }

  /** The work for which parties beyond their shares make room now. */
  #lightsAtWork(): readonly LightWork[] {
    const now = this.#now();
    if (now >= this.#heavyRestUntil || !this.#isLoopBusy()) return [];
    return this.#lastLight.filter(({ at }) => now - at < ACTIVE_MS);
  }

  #isLoopBusy(): boolean {
    const now = this.#now();
    if (now - this.#use.measuredAt >= WINDOW_MS) this.#use = { measuredAt: now, share: this.#measureUse() };
    return this.#use.share > MAX_USE;
  }

  #next(): WaitingWork | undefined {
    const mayStart = (work: WaitingWork) => !this.#mustWait(work);
    const light = this.#light.take(mayStart);
    if (light !== undefined) return light;
    // Thousands may wait, and beside the light work of a party only heavy work of the same one may start.
    const [first, ...others] = this.#lightsAtWork();
    if (first === undefined) return this.#heavy.take(mayStart);
    if (others.some(({ party }) => party !== first.party)) return undefined;
    return this.#heavy.take(mayStart, pathOf(first.party, "").slice(0, -1));
  }

  readonly #turn = () => {
    this.#left = TURN_US;
    this.#retry = undefined;
    try {
      while (this.#left > 0) {
        const next = this.#next();
        if (next === undefined) break;
        this.#start(next);
      }
    } finally {
      // Also after work that has thrown: others wait behind it.
      this.#isTurning = this.#left < TURN_US || this.waiting > 0;
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

/** Splits the name of a party: a key, the site (48 bits) of an IPv6 network, the address under the key, then the part. */
function pathOf(party: string, part: string): readonly string[] {
  const end = party.indexOf(" ");
  if (end < 0) return [party, "", part];
  const address = party.slice(end + 1);
  const sites = /^(?:[^:]+:){3}/.exec(address) ?? [];
  return [party.slice(0, end), ...sites, address, part];
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
