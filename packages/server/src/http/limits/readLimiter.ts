import { ProtocolError } from "@gas-waiver/protocol";
import { type LimitedCaller, ownerOf, partyOf } from "../../model/keys/caller.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import { PRICES } from "../../model/prices.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import { type LoopQueue, SMALL } from "../../util/loopQueue.js";
import { WorkQueue } from "../../util/workQueue.js";
import { bucketsOf, Rates } from "./rates.js";

export type ReadLimiter = ReturnType<typeof createReadLimiter>;

export interface ReadLimiterDependencies {
  readonly options: Pick<ResolvedOptions, "readRatePerSecond" | "readBurst">;
  readonly metrics: Pick<Metrics, "countWaitingReads">;
  readonly loop: Pick<LoopQueue, "charge">;
  /** In ms. */
  readonly now?: () => number;
}

/** Reads that use the store at the same time. Accepts and lanes have connections of their own. */
export const MAX_CONCURRENT_READS = 4;
/** Reads of one key that use the store at the same time. A page takes a processor of the database for some milliseconds. */
export const MAX_CONCURRENT_READS_PER_KEY = 1;
/** Reads that wait for their turn: of all keys, and of one key. */
export const MAX_WAITING_READS = 256;
export const MAX_WAITING_READS_PER_KEY = 32;
/** Reads that wait for their turn of one address under a publishable key, of which one at a time waits for the key's turn. */
export const MAX_WAITING_READS_PER_ADDRESS = 4;
/** Records of a page that cost as much as one read. */
export const RECORDS_PER_READ = 20;

/**
 * Bounds what one API key reads, and each address under a publishable one: records, lists, `watch`, the policy, the
 * descriptions.
 */
export function createReadLimiter({
  options,
  metrics,
  loop,
  now = () => performance.now(),
}: ReadLimiterDependencies) {
  const rates = new Rates("reads", now);
  const queue = new WorkQueue({
    ...{ places: MAX_CONCURRENT_READS, placesOfParty: MAX_CONCURRENT_READS_PER_KEY },
    ...{ waiting: MAX_WAITING_READS, waitingOfParty: MAX_WAITING_READS_PER_KEY },
    refusal: (why) =>
      new ProtocolError("QUEUE_AT_CAPACITY", `the service reads as much as it may at once: ${why}`),
  });
  metrics.countWaitingReads(() => queue.waiting);
  /**
   * Counts a read that does not use the store, and so need not wait for its turn.
   * @param records that the read may return. A page costs more than a record.
   * @throws {@link RateRefusal} if the key reads too fast.
   */
  const count = (caller: LimitedCaller, records: number): void => {
    const { readRatePerSecond: ratePerSecond, readBurst: rateBurst } = options;
    // A page that costs more than the burst could never be read.
    const cost = Math.min(1 + Math.floor(records / RECORDS_PER_READ), rateBurst);
    rates.take(bucketsOf(caller, { ratePerSecond, rateBurst }), cost);
  };
  /**
   * Runs a further part of a read that is counted already, when it is the key's turn. A read gives its turn back while it
   * waits for anything but the store.
   * @param queries that it has one after the other.
   * @throws {@link ProtocolError} `QUEUE_AT_CAPACITY` if too many reads wait.
   */
  const readOn = <T>(caller: LimitedCaller, work: () => Promise<T>, queries = 1): Promise<T> => {
    loop.charge(partyOf(caller), queries * PRICES.read, SMALL);
    return queue.run(work, ownerOf(caller, MAX_WAITING_READS_PER_ADDRESS));
  };
  return {
    count,
    readOn,
    /** Runs a read when it is the key's turn. @throws as `count` and `readOn` do. */
    async read<T>(caller: LimitedCaller, records: number, work: () => Promise<T>): Promise<T> {
      count(caller, records);
      return await readOn(caller, work);
    },
  };
}
