import type { Realm } from "./realm.js";
import type { Session } from "./session.js";
import type { SimulatedDatabase } from "./simulatedDatabase.js";

/** The faults of the database of a world. Those that the server itself must show happen between two statements of the service. */
export class DatabaseFaults {
  readonly #realm: Pick<Realm, "gate" | "sessions" | "journal" | "clock">;
  readonly #database: SimulatedDatabase;
  #timeline = 1;

  constructor(realm: Pick<Realm, "gate" | "sessions" | "journal" | "clock">, database: SimulatedDatabase) {
    this.#realm = realm;
    this.#database = database;
  }

  /** Ends all sessions, as a restart of the server does. */
  endSessions(): void {
    this.#act("ends all sessions", () => this.#endAll());
  }

  /** Ends all sessions and lets none be opened. */
  setAway(isAway: boolean): void {
    this.#realm.sessions.isAway = isAway;
    this.#act(isAway ? "goes away" : "comes back", async () => {
      if (isAway) await this.#endAll();
    });
  }

  /** Takes no writes, as a primary that was demoted; a change ends all sessions. */
  setReadOnly(isReadOnly: boolean): void {
    this.#act(isReadOnly ? "is read-only" : "takes writes", async () => {
      await this.#database.setReadOnly(isReadOnly);
      await this.#endAll();
    });
  }

  /** Refuses statements that write, as on a full disk. */
  setFull(isFull: boolean): void {
    this.#realm.sessions.isFull = isFull;
  }

  /** Delays each answer. */
  setSlowness(ms: number): void {
    this.#realm.gate.slownessMs = ms;
  }

  /** Sets its clock ahead, or back where `ms` is negative, by more than before. */
  stepClock(ms: number): void {
    this.#database.stepMs += ms;
  }

  /** From now on a standby receives nothing any more: {@link failOver} loses what comes after this. */
  leaveStandbyBehind(): void {
    this.#act("leaves its standby behind", () => this.#database.keepState());
  }

  /** The standby takes over: on another timeline, with the state that it has received. */
  failOver(): void {
    this.#act("fails over", async () => {
      await this.#endAll();
      await this.#database.restoreState();
      this.#timeline++;
      await this.#database.setTimeline(this.#timeline);
    });
  }

  #act(name: string, act: () => Promise<void>): void {
    const { gate, journal, clock } = this.#realm;
    journal.note(`${clock.now.toFixed(3)} the database ${name}`);
    void gate.exclusively(act);
  }

  async #endAll(): Promise<void> {
    await endSessions(this.#database, this.#realm.sessions.all());
  }
}

/** Takes the sessions of a process that is gone. Those that are still at work are ended at the server. */
export async function dropSessions(
  database: SimulatedDatabase,
  realm: Pick<Realm, "sessions">,
  sessions: readonly Session[],
): Promise<void> {
  const left: Session[] = [];
  for (const session of sessions) {
    if (await database.keepConnection(session.client)) realm.sessions.forget(session.client);
    else left.push(session);
  }
  for (const session of left) session.cut();
  await endSessions(database, left);
}

/**
 * Ends sessions at the server, and resolves when their locks are released and their sockets closed. One after the other, so that every
 * repetition of a world hears their last words in the same order.
 */
export async function endSessions(database: SimulatedDatabase, sessions: readonly Session[]): Promise<void> {
  const open = sessions.filter(({ pid }) => pid > 0);
  for (const session of open) {
    const { pid, isClosed } = session;
    await database.endSession(pid);
    if (!isClosed) await session.closed();
  }
  await database.untilGone(open.map(({ pid }) => pid));
}
