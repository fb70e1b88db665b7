import type { Activity } from "./activity.js";
import type { ScheduledEvent, VirtualClock } from "./clock.js";
import { runAs } from "./owner.js";
import type { Random } from "./random.js";
import { real } from "./realTime.js";
import type { PendingAnswer, Session } from "./session.js";

/** A statement that has had no answer for this long, in real ms, may wait for a lock: the database is asked. */
const PATIENCE_MS = 30;

interface Job {
  /** Undefined for work on the database that belongs to no session of the service. */
  readonly session: Session | undefined;
  /** Begins the statement. The promise never rejects, and resolves when the server is done. */
  readonly begin: () => Promise<void>;
  done: Promise<void>;
}

interface SqlGateParts {
  readonly clock: VirtualClock;
  readonly activity: Activity;
  readonly random: Random;
  /** Asks the database whether a session waits for a lock that another one holds. */
  readonly isBlocked: (session: Session) => Promise<boolean>;
}

/**
 * Gives the database one statement at a time, in the order of their issue: two at once would finish in any order. A statement that
 * waits for a lock is set aside until its blocker is gone, and the others go on.
 */
export class SqlGate {
  readonly #parts: SqlGateParts;
  readonly #queue: Job[] = [];
  #blocked: Job[] = [];
  #isWorking = false;
  /** Statements that were set aside because they waited for a lock. */
  lockWaits = 0;
  statements = 0;
  /** Delays each answer of the database, in virtual ms. */
  slownessMs = 0;

  constructor(parts: SqlGateParts) {
    this.#parts = parts;
  }

  /**
   * Runs a statement of a session, as its process: a connection that is made here tells this process of its loss. The answer comes to
   * the process in virtual time: later while it is frozen, and never once it is dead.
   */
  run<T>(session: Session, statement: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#parts;
    const { owner } = session;
    this.statements++;
    return new Promise<T>((resolve, reject) => {
      let coming: ScheduledEvent | undefined;
      const giveAfter = (delayMs: number, give: () => void) => {
        if (coming !== undefined) coming.isCancelled = true;
        coming = clock.schedule(delayMs, give, owner);
      };
      const answer: PendingAnswer = { lose: (error) => giveAfter(0, () => reject(error)) };
      const arrive = (give: () => void) =>
        giveAfter(random.between(0.1, 0.9) + this.slownessMs, () => {
          session.answered(answer);
          give();
        });
      const begin = async () => {
        if (owner?.isDead) return;
        session.issued(answer);
        try {
          const result = await statement();
          arrive(() => resolve(result));
        } catch (error) {
          arrive(() => reject(error));
          await session.ready();
        }
        session.done();
      };
      this.#enqueue(session, () => runAs(owner, begin));
    });
  }

  /** Runs work on the database that is no statement of the service, such as a fault, when its turn comes. */
  exclusively(work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#enqueue(undefined, () => work().then(resolve, reject));
    });
  }

  /** Has the server end a session's statement that waits for a lock, and resolves when it has ended. */
  endWait(session: Session, cancel: () => Promise<void>): Promise<void> {
    return this.exclusively(async () => {
      await cancel();
      await Promise.all(this.#blocked.filter((job) => job.session === session).map(({ done }) => done));
    });
  }

  #enqueue(session: Session | undefined, begin: () => Promise<void>): void {
    this.#queue.push({ session, begin, done: Promise.resolve() });
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#parts.activity.count(this.#work());
  }

  async #work(): Promise<void> {
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      job.done = job.begin();
      await this.#endOrBlock(job);
      if (this.#blocked.length > 0) await this.#continueBlocked();
    }
    this.#isWorking = false;
  }

  /** Waits until the server is done with a statement, or lets it wait for a lock. @returns whether the statement waits. */
  async #endOrBlock(job: Job): Promise<boolean> {
    const { session } = job;
    for (;;) {
      if (session === undefined) await job.done;
      if (session === undefined || (await endsWithin(job.done, PATIENCE_MS))) return false;
      if (!(await this.#parts.isBlocked(session))) continue;
      this.lockWaits++;
      this.#blocked.push(job);
      session.blocked();
      return true;
    }
  }

  /** The last statement may have released locks: lets those that waited for them end, in their order. */
  async #continueBlocked(): Promise<void> {
    for (let hasEnded = true; hasEnded; ) {
      hasEnded = false;
      for (const job of this.#blocked) {
        const isBlocked = job.session !== undefined && (await this.#parts.isBlocked(job.session));
        if (isBlocked) continue;
        this.#blocked = this.#blocked.filter((other) => other !== job);
        hasEnded = !(await this.#endOrBlock(job));
        if (hasEnded) break;
      }
    }
  }
}

async function endsWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = real.setTimeout(() => resolve(false), ms);
  });
  const isDone = await Promise.race([promise.then(() => true), late]);
  real.clearTimeout(timer);
  return isDone;
}
