import { ProtocolError } from "@gas-waiver/protocol";
import { type Caller, PUBLISHABLE_SHARE } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import { queueLengths } from "../store/accept/queueLengths.js";
import type { Store } from "../store/store.js";
import { type Share, Tally } from "../util/tally.js";

/** The room of one request. */
export interface AdmittedTransactions {
  /** Call when this many more of the transactions are in the store, whose counts have them from then on, or refused. */
  leave(transactions: number): void;
  /** Call when the request is over. */
  leaveAll(): void;
}

export interface AdmissionDependencies {
  readonly store: Store;
  readonly options: Pick<ResolvedOptions, "queueCapacity">;
  readonly chainRef: number;
}

/** A count of the store is used for this long. The cost of counting grows with the queue. */
const COUNT_MAX_AGE_MS = 100;
/** Counting takes at most a twentieth of the time, also while dead rows that cannot be removed make it slow. */
const PERIODS_PER_COUNT = 20;

/**
 * Bounds the queue of submissions that wait for a broadcast (D22). A request is admitted whole or not at all.
 * Between two counts of the store, every transaction that was accepted or refused since the last count began counts as
 * queued. The sum may be too high, and never too low, so the store is counted again before a request is
 * refused.
 */
export class Admission {
  readonly #dependencies: AdmissionDependencies;
  /** Admitted transactions that are not decided yet. Those of a write that is running may be in the store already. */
  readonly #entering = new Tally();
  /** The store's last count, and the transactions that were admitted since it began or were not decided then. */
  #queued = new Tally();
  /** The same for the count that runs, without its result. */
  #nextQueued: Tally | undefined;
  #countedAt = Number.NEGATIVE_INFINITY;
  #countMaxAgeMs = COUNT_MAX_AGE_MS;
  #counting: Promise<void> | undefined;

  constructor(dependencies: AdmissionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Reserves room in the queue.
   * @throws {@link ProtocolError} of code `QUEUE_FULL`.
   */
  async admit(caller: Caller, transactions: number): Promise<AdmittedTransactions> {
    const shares = this.#sharesOf(caller);
    const isFresh = performance.now() - this.#countedAt < this.#countMaxAgeMs;
    if (!isFresh) await this.#recount();
    try {
      this.#assertFits(shares, transactions);
    } catch (error) {
      if (!isFresh) throw error;
      await this.#recount();
      this.#assertFits(shares, transactions);
    }
    // After the check: a request that will be refused must take no room from other keys.
    for (const tally of [this.#entering, this.#queued, this.#nextQueued]) tally?.addTo(shares, transactions);
    let entering = transactions;
    const leave = (some: number) => {
      const leaving = Math.min(some, entering);
      entering -= leaving;
      this.#entering.addTo(shares, -leaving);
    };
    return { leave, leaveAll: () => leave(entering) };
  }

  #recount(): Promise<void> {
    this.#counting ??= this.#count().finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }

  async #count(): Promise<void> {
    const { store, chainRef } = this.#dependencies;
    const startedAt = performance.now();
    const next = this.#entering.copy();
    this.#nextQueued = next;
    for (const { keyId, queued, isPublishable } of await queueLengths(store, chainRef)) {
      for (const name of namesOf(keyId, isPublishable)) next.add(name, queued);
    }
    this.#queued = next;
    this.#nextQueued = undefined;
    this.#countedAt = startedAt;
    this.#countMaxAgeMs = Math.max(COUNT_MAX_AGE_MS, PERIODS_PER_COUNT * (performance.now() - startedAt));
  }

  #assertFits(shares: readonly Share[], transactions: number): void {
    const full = this.#queued.full(shares, transactions);
    if (full === undefined) return;
    const [name, capacity, queue] = full;
    const held = this.#queued.of(name);
    const reason = name === ALL ? "QUEUE_AT_CAPACITY" : "KEY_SHARE_EXHAUSTED";
    const message = `${queue} holds ${held} of ${capacity} submissions; ${transactions} more do not fit`;
    throw new ProtocolError(reason, message, { held, capacity, transactions });
  }

  #sharesOf({ keyId, limits, publishable }: Caller): Share[] {
    const { queueCapacity } = this.#dependencies.options;
    const ofKey = Math.ceil(queueCapacity * limits.queueShare);
    const ofPublishable = Math.ceil(queueCapacity * PUBLISHABLE_SHARE);
    const shares: Share[] = [
      [ALL, queueCapacity, "the queue"],
      [keyId, ofKey, "this key's share of the queue"],
    ];
    if (publishable !== undefined)
      shares.push([PUBLISHABLE, ofPublishable, "the share of publishable keys in the queue"]);
    return shares;
  }
}

/** Name the whole queue, and the part of it that publishable keys hold together. No key has these ids. */
const [ALL, PUBLISHABLE] = ["all keys", "publishable keys"];

function namesOf(keyId: string, isPublishable: boolean): string[] {
  return isPublishable ? [ALL, keyId, PUBLISHABLE] : [ALL, keyId];
}
