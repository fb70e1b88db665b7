import type { RefusedRecord } from "@gas-waiver/protocol";
import type { Caller } from "../model/keys/caller.js";
import { type RefusedLine, toRefusedRecord } from "../model/submission/refusedRecord.js";
import type { Logger } from "../model/telemetry/log.js";
import { isStoreUnavailable } from "../store/database/storeTrouble.js";
import { findRefusals, type Refusal, saveRefusals } from "../store/refusals/refusals.js";
import type { OpenStore, Store } from "../store/store.js";
import { Ledger, type Terms } from "../util/ledger.js";

export interface RefusalsDependencies {
  /** The store, over connections that no request waits for. */
  readonly store: Pick<OpenStore, "pool" | "monitor">;
  /** The store, over the connections for reading. */
  readonly reading: Store;
  readonly log: Logger;
  /** A monotonic clock in ms. */
  readonly now?: () => number;
}

/** The refusals of one API key that are kept: about 170,000 a day, some 100 MB of the database. */
export const REFUSALS_OF_KEY: Terms = { rateBurst: 1_000, ratePerSecond: 2 };
/** The refusals of all API keys that one replica keeps: about 860,000 a day, some 600 MB of the database. */
export const REFUSALS_OF_REPLICA: Terms = { rateBurst: 5_000, ratePerSecond: 10 };
/** The refusals that wait for their write: some 5 MB. More are not kept, while the store is away. */
export const MAX_WAITING_REFUSALS = 5_000;
/** The pause before what has come is written. */
const WRITE_AFTER_MS = 500;
/** The most refusals that one statement writes. */
export const REFUSALS_PER_WRITE = 500;

/**
 * Keeps refused lines for those who look up their ids (D15). No request waits for the write: this replica has a refusal in
 * memory from the moment of its line, and soon writes a batch of refusals that every replica then finds. Rates bound the
 * refusals that a flood of bad lines leaves; beyond the rates, the line alone tells the refusal.
 */
export class Refusals {
  readonly #dependencies: RefusalsDependencies;
  /** The refusals that the store does not have yet, by the ids of their lines. */
  readonly #waiting = new Map<string, Refusal>();
  readonly #kept: Ledger;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(dependencies: RefusalsDependencies) {
    this.#dependencies = dependencies;
    this.#kept = new Ledger(dependencies.now ?? (() => performance.now()));
  }

  /** Keeps the lines, as far as the rates allow. */
  keep({ keyId, publishable }: Caller, lines: readonly RefusedLine[]): void {
    // D32: a publishable key names nothing by its id, so nobody could look these up.
    if (publishable !== undefined) return;
    const refusedAt = new Date();
    for (const line of lines) {
      if (this.#waiting.size >= MAX_WAITING_REFUSALS || !this.#mayKeep(keyId)) break;
      this.#waiting.set(line.id, { keyId, record: toRefusedRecord(line, refusedAt) });
    }
    this.#writeSoon();
  }

  /** Finds the refused lines of an API key. Unknown ids are left out. */
  async find(keyId: string, ids: readonly string[]): Promise<RefusedRecord[]> {
    const waiting = ids.flatMap((id) => {
      const refusal = this.#waiting.get(id.toLowerCase());
      return refusal?.keyId === keyId ? [refusal.record] : [];
    });
    const found = new Set(waiting.map(({ id }) => id));
    const others = ids.filter((id) => !found.has(id.toLowerCase()));
    return [...waiting, ...(await findRefusals(this.#dependencies.reading, keyId, others))];
  }

  /** Writes what waits, unless the store is away, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    await this.#write();
  }

  /** Counts a refusal for its key and for the replica. */
  #mayKeep(keyId: string): boolean {
    const isOfKey = this.#kept.take(`key ${keyId}`, 1, REFUSALS_OF_KEY) === 0;
    return isOfKey && this.#kept.take("replica", 1, REFUSALS_OF_REPLICA) === 0;
  }

  #writeSoon(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0 || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#writing = this.#write().finally(() => {
        this.#timer = undefined;
        // While the store is away, or for what came meanwhile.
        this.#writeSoon();
      });
    }, WRITE_AFTER_MS);
  }

  /** Writes everything that waits, in parts. What the store cannot take now goes on waiting. Never rejects. */
  async #write(): Promise<void> {
    const { store, log } = this.#dependencies;
    while (this.#waiting.size > 0 && store.monitor.trouble === undefined) {
      const part = [...this.#waiting].slice(0, REFUSALS_PER_WRITE);
      try {
        const refusals = part.map(([, refusal]) => refusal);
        await saveRefusals(store, refusals);
      } catch (error) {
        log.debug({ err: (error as Error).message }, "refused lines could not be written");
        if (isStoreUnavailable(error)) return;
      }
      for (const [id] of part) this.#waiting.delete(id);
    }
  }
}
