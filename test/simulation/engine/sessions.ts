import type pg from "pg";
import type { VirtualClock } from "./clock.js";
import { currentOwner, type Owner } from "./owner.js";
import { Session, type SessionControl } from "./session.js";

/** Statements that write rows. A database whose disk is full refuses them. */
const WRITES = /\b(?:insert|update|delete|accept\w*|raise_nonce_floor|create_finished_days)\b/;

/** The connections of a world to its database, and the faults that they meet. */
export class Sessions {
  readonly #sessions = new Map<pg.Client, Session>();
  readonly #clock: VirtualClock;
  readonly #control: SessionControl;
  /** No new connection can be made. */
  isAway = false;
  /** Statements that write fail. */
  isFull = false;

  constructor(clock: VirtualClock, control: SessionControl) {
    this.#clock = clock;
    this.#control = control;
  }

  open(client: pg.Client): Session {
    const session = new Session(client, currentOwner(), this.#clock, this.#control);
    this.#sessions.set(client, session);
    client.once("end", () => this.forget(client));
    return session;
  }

  of(client: pg.Client): Session {
    const session = this.#sessions.get(client);
    // Only a client whose connection has ended is not among them: the driver refuses its statement.
    return session ?? new Session(client, currentOwner(), this.#clock, this.#control);
  }

  ofOwner(owner: Owner): Session[] {
    return this.all().filter((session) => session.owner === owner);
  }

  all(): Session[] {
    return [...this.#sessions.values()];
  }

  /** The client's connection is no part of the world any more. */
  forget(client: pg.Client): void {
    this.#sessions.get(client)?.fail();
    this.#sessions.delete(client);
  }

  assertReachable(): void {
    if (!this.isAway) return;
    const code = "ECONNREFUSED";
    throw Object.assign(new Error(`connect ${code}`), { code, syscall: "connect" });
  }

  /** Whether the database refuses a statement, as its disk is full. */
  refuses(text: string): boolean {
    return this.isFull && WRITES.test(text);
  }
}
