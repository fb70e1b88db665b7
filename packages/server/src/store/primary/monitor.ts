import type { Logger } from "../../model/telemetry/log.js";
import { createWakeableTimer } from "../../util/wakeableTimer.js";
import type { DatabaseClock } from "../clock/databaseClock.js";
import type { Queryable } from "../database/database.js";
import {
  isVague,
  type StoreTrouble,
  StoreUnavailableError,
  type TroubleKind,
  troubleNamed,
  troubleOf,
} from "../database/storeTrouble.js";
import { type Blocker, findBlocker } from "./blocker.js";
import {
  readServerFacts,
  type ServerFacts,
  type StoreRequirements,
  troubleIn,
  weaknessesIn,
} from "./facts.js";

export interface StoreMonitorOptions {
  readonly db: Queryable;
  /** Gets the database's time with each poll. */
  readonly clock: DatabaseClock;
  readonly log: Logger;
  /** Called when the database becomes read-only, and now and then until it is not: its name may lead to another server. */
  readonly onReadOnly: () => void;
}

const INTERVAL_MS = 2_000;
const TROUBLED_INTERVAL_MS = 500;
/** A trouble that lasts, or comes and goes, is logged again after this time. */
const QUIET_MS = 30_000;
/**
 * A trouble that only the service's work meets, such as a full disk under one table, is over when no work has met it for as long as
 * it lasted, but for no less and no more than these times in ms. The least is shorter than readiness's patience.
 */
const MIN_CALM_MS = 4_000;
const MAX_CALM_MS = 15_000;

/**
 * The party that met a trouble: the monitor's own poll, the work for which something is stored, or another query, of which nobody knows
 * whether it comes again.
 */
export type TroubleParty = "poll" | "work" | "other";

/** Troubles that only a poll of the server's state finds and ends. */
const STATE_TROUBLES: ReadonlySet<TroubleKind> = new Set([
  "readOnly",
  "noStandby",
  "notSynchronous",
  "clock",
]);

const NOW = `select clock_timestamp() as now,
  end_id > first_id_of(($1::timestamptz at time zone 'UTC')::date) as "hasDay" from finished_range`;

/**
 * Watches the database: polls its state, and gets a report of each trouble that a query meets. A trouble is over when what met it
 * works: a poll ends what a poll met. The log has a trouble when it begins, now and then while it lasts, and when it is over.
 */
export class StoreMonitor {
  readonly #options: StoreMonitorOptions;
  readonly #timer = createWakeableTimer();
  readonly #loggedAt = new Map<TroubleKind, number>();
  #trouble: StoreTrouble | undefined;
  #since = 0;
  /** The last time at which work met the trouble, by its name and not by a time-out. */
  #metAt = Number.NEGATIVE_INFINITY;
  /** The poll has met the trouble, and so can find that it is over. */
  #isPolled = false;
  #isLogged = false;
  /** The last poll found the synchronous standby missing for the first time. */
  #isStandbyDoubted = false;
  #weaknesses: readonly string[] = [];
  #oldestTransactionMs = 0;
  #blocker: Blocker | undefined;
  #certificateEnd: Date | undefined;
  #isClosed = false;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: StoreMonitorOptions) {
    this.#options = options;
  }

  /** The present trouble; undefined while the database works. */
  get trouble(): StoreTrouble | undefined {
    return this.#trouble;
  }

  /** The ways in which the database may lose what it has committed, for the operator. */
  get weaknesses(): readonly string[] {
    return this.#weaknesses;
  }

  /** The age of the oldest open transaction at the last poll, in ms; 0 without one. */
  get oldestTransactionMs(): number {
    return this.#oldestTransactionMs;
  }

  /** The end of the certificate that the database shows; undefined without TLS. */
  get certificateEnd(): Date | undefined {
    return this.#certificateEnd;
  }

  noteCertificate(end: Date): void {
    this.#certificateEnd = end;
  }

  /** The time in ms for which the service has waited for a lock of another program's session; 0 without one. */
  get blockedMs(): number {
    return this.#blocker?.forMs ?? 0;
  }

  /**
   * Refuses work while the database can store nothing durably.
   * @throws {@link StoreUnavailableError} while the database is read-only or has no synchronous standby that it needs.
   */
  assertWritable(): void {
    if (this.#trouble && STATE_TROUBLES.has(this.#trouble.kind))
      throw new StoreUnavailableError(this.#trouble);
  }

  /** Records a trouble that a query met. @returns the trouble to name: a known one explains a silent database. */
  report(trouble: StoreTrouble, error: Error, party: TroubleParty): StoreTrouble {
    // A database that waits for its standby looks silent to a query, and keeps all connections in use.
    const isEffect = trouble.kind === "silent" || trouble.kind === "busy";
    if (this.#trouble && STATE_TROUBLES.has(this.#trouble.kind) && isEffect) return this.#trouble;
    // So does one whose locks somebody else has.
    if (this.#blocker && isEffect) return this.#report(troubleNamed("blocked"), error, party);
    // And one that refuses connections, or has no room, also cuts them and lets them wait.
    if (this.#trouble && this.#isHeld && isVague(trouble)) return this.#trouble;
    return this.#report(trouble, error, party);
  }

  #report(trouble: StoreTrouble, error: Error, party: TroubleParty): StoreTrouble {
    const isNew = trouble.kind !== this.#trouble?.kind;
    this.#begin(trouble, error.message);
    if (party === "work" && !isVague(trouble)) this.#metAt = performance.now();
    this.#isPolled ||= party === "poll";
    if (isNew && trouble.kind === "readOnly") this.#options.onReadOnly();
    return trouble;
  }

  /** Work has met the trouble of late. */
  get #isHeld(): boolean {
    const lastedMs = this.#metAt - this.#since;
    return performance.now() - this.#metAt < Math.min(MAX_CALM_MS, Math.max(MIN_CALM_MS, lastedMs));
  }

  /** Reads the state for the first time, and watches from then on. @throws the database's error. */
  async start(requirements: StoreRequirements): Promise<void> {
    const facts = await readServerFacts(this.#options.db);
    const trouble = troubleIn(facts, requirements);
    await this.#readClock();
    // A standby that is away may be back soon. The service starts, and is not ready until then.
    if (trouble?.kind === "noStandby") this.#begin(trouble, trouble.message);
    else if (trouble) throw new StoreUnavailableError(trouble);
    this.#updateState(facts);
    this.#watching = this.#watch(requirements);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.end();
    await this.#watching;
  }

  async #watch(requirements: StoreRequirements): Promise<void> {
    while (!this.#isClosed) {
      const isCalm = this.#trouble === undefined && !this.#isStandbyDoubted;
      await this.#timer.rest(isCalm ? INTERVAL_MS : TROUBLED_INTERVAL_MS, isCalm);
      if (!this.#isClosed) await this.#poll(requirements);
    }
  }

  /** Reads the database's clock. It is a trouble while the store has no day of outcomes for the ids of the present. */
  async #readClock(): Promise<StoreTrouble | undefined> {
    const { rows } = await this.#options.db.query<{ now: Date; hasDay: boolean }>(NOW, [
      new Date(this.#options.clock.present()),
    ]);
    if (rows[0] === undefined) throw new Error("the store did not tell the time");
    this.#options.clock.note(rows[0].now);
    return rows[0].hasDay ? undefined : troubleNamed("clock");
  }

  async #poll(requirements: StoreRequirements): Promise<void> {
    try {
      const facts = await readServerFacts(this.#options.db);
      this.#noteBlocker(await findBlocker(this.#options.db));
      const clockTrouble = await this.#readClock();
      const trouble = troubleIn(facts, requirements) ?? clockTrouble;
      if (trouble?.kind === "noStandby" && !this.#isStandbyDoubted) {
        // A standby that has just connected, or connects again, is synchronous a moment later.
        this.#isStandbyDoubted = true;
        return;
      }
      this.#isStandbyDoubted = false;
      if (trouble) {
        this.#begin(trouble, trouble.message);
        this.#isPolled = true;
      } else this.#endUnlessHeld();
      if (trouble?.kind === "readOnly") this.#options.onReadOnly();
      this.#updateState(facts);
    } catch (error) {
      // The pool has reported it, unless the database refuses to describe itself.
      if (troubleOf(error)) return;
      this.#options.log.error({ err: error }, "the store's state cannot be read");
      this.#endUnlessHeld();
    }
  }

  #begin(trouble: StoreTrouble, err: string): void {
    if (this.#isClosed) return;
    const now = performance.now();
    if (this.#trouble === undefined) {
      this.#since = now;
      this.#metAt = Number.NEGATIVE_INFINITY;
      this.#isPolled = false;
    }
    const { kind, message, advice } = trouble;
    const isNew = kind !== this.#trouble?.kind;
    this.#trouble = trouble;
    const isDue = now - (this.#loggedAt.get(kind) ?? Number.NEGATIVE_INFINITY) >= QUIET_MS;
    if (isDue) this.#loggedAt.set(kind, now);
    this.#isLogged = isDue || (this.#isLogged && !isNew);
    if (isNew || isDue) this.#options.log[isDue ? "error" : "debug"]({ trouble: kind, err, advice }, message);
    if (isNew) this.#timer.wake();
  }

  /** A poll works, which ends what a poll can meet. */
  #endUnlessHeld(): void {
    if (this.#trouble === undefined || (this.#isHeld && !this.#isPolled)) return;
    const forMs = Math.round(performance.now() - this.#since);
    const { kind } = this.#trouble;
    this.#options.log[this.#isLogged ? "info" : "debug"]({ trouble: kind, forMs }, "the store works again");
    this.#trouble = undefined;
  }

  #noteBlocker(blocker: Blocker | undefined): void {
    const { log } = this.#options;
    if (blocker && blocker.pid !== this.#blocker?.pid)
      log.error({ blocker }, "another program's session holds a lock that the store waits for");
    else if (!blocker && this.#blocker) log.info("the store waits for no other program's lock any more");
    this.#blocker = blocker;
  }

  #updateState(facts: ServerFacts): void {
    this.#oldestTransactionMs = facts.oldestTransactionMs;
    const weaknesses = weaknessesIn(facts);
    for (const weakness of weaknesses)
      if (!this.#weaknesses.includes(weakness)) this.#options.log.warn({}, `the database: ${weakness}`);
    this.#weaknesses = weaknesses;
  }
}
