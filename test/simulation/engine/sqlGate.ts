import type { Client } from "pg";
import type { Activity } from "./activity.js";
import type { VirtualClock } from "./clock.js";
import { currentOwner, type Owner } from "./owner.js";
import type { Random } from "./random.js";
import { real } from "./realTime.js";

/** A statement that has had no answer for this long, in real ms, may wait for a lock: the database is asked. */
const PATIENCE_MS = 30;

/** Asks the database whether a session waits for a lock that another one holds. */
export type BlockedCheck = (client: Client) => Promise<boolean>;

interface Job {
  /** Undefined for work on the database that belongs to no session of the service. */
  readonly client: Client | undefined;
  readonly owner: Owner | undefined;
  /** Begins the statement. The promise never rejects, and resolves when the answer has come. */
  readonly begin: () => Promise<void>;
  done: Promise<void>;
}

/**
 * Gives the database one statement at a time, in the order of their issue: two at once would finish in any order. A statement that
 * waits for a lock is set aside until its blocker is gone, and the others go on.
 */
export class SqlGate {
  readonly #clock: VirtualClock;
  readonly #activity: Activity;
  readonly #random: Random;
  readonly #isBlocked: BlockedCheck;
  readonly #queue: Job[] = [];
  #blocked: Job[] = [];
  #isWorking = false;
  /** Statements that were set aside because they waited for a lock. */
  lockWaits = 0;
  statements = 0;
  /** Delays each answer of the database, in virtual ms. */
  slownessMs = 0;

  constructor(parts: { clock: VirtualClock; activity: Activity; random: Random; isBlocked: BlockedCheck }) {
    this.#clock = parts.clock;
    this.#activity = parts.activity;
    this.#random = parts.random;
    this.#isBlocked = parts.isBlocked;
  }

  /** Runs a statement of a session. The answer comes to its process in virtual time: held while it is frozen, never once it is dead. */
  run<T>(client: Client, statement: () => Promise<T>): Promise<T> {
    const owner = currentOwner();
    this.statements++;
    return new Promise<T>((resolve, reject) => {
      const answer = (give: () => void) => {
        const delayMs = this.#random.between(0.1, 0.9) + this.slownessMs;
        this.#clock.schedule(delayMs, give, owner);
      };
      const begin = async () => {
        if (owner?.isDead) return;
        try {
          const result = await statement();
          answer(() => resolve(result));
        } catch (error) {
          answer(() => reject(error));
        }
      };
      this.#enqueue({ client, owner, begin, done: Promise.resolve() });
    });
  }

  /** Runs work on the database that is no statement of the service, such as a fault, when its turn comes. */
  exclusively(work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => work().then(resolve, reject);
      this.#enqueue({ client: undefined, owner: undefined, begin, done: Promise.resolve() });
    });
  }

  #enqueue(job: Job): void {
    this.#queue.push(job);
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#activity.count(this.#work());
  }

  async #work(): Promise<void> {
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      job.done = job.begin();
      await this.#endOrBlock(job);
      if (this.#blocked.length > 0) await this.#continueBlocked();
    }
    this.#isWorking = false;
  }

  /** Waits until a statement has its answer, or is set aside. */
  async #endOrBlock(job: Job): Promise<void> {
    const { client } = job;
    if (client === undefined) return await job.done;
    for (;;) {
      if (await endsWithin(job.done, PATIENCE_MS)) return;
      if (!(await this.#isBlocked(client))) continue;
      this.lockWaits++;
      this.#blocked.push(job);
      return;
    }
  }

  /** The last statement may have released locks: lets those that waited for them end, in their order. */
  async #continueBlocked(): Promise<void> {
    for (let hasMoved = true; hasMoved; ) {
      hasMoved = false;
      for (const job of this.#blocked) {
        if (job.client !== undefined && (await this.#isBlocked(job.client))) continue;
        this.#blocked = this.#blocked.filter((other) => other !== job);
        hasMoved = true;
        await this.#endOrBlock(job);
        break;
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
