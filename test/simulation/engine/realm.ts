import type { ClientRequest, RequestOptions } from "node:http";
import type pg from "pg";
import type { Activity } from "./activity.js";
import type { VirtualClock } from "./clock.js";
import type { Journal } from "./journal.js";
import type { NotificationInbox } from "./notificationInbox.js";
import type { Random } from "./random.js";
import type { Sessions } from "./sessions.js";
import type { SqlGate } from "./sqlGate.js";

/** The moment at which virtual time begins. It lies in the past, where no session of PostgreSQL began. */
export const EPOCH = Date.UTC(2020, 0, 1);

/** The world behind the replaced functions of the process. */
export interface Realm {
  readonly clock: VirtualClock;
  readonly activity: Activity;
  /** The source of ids and of all other randomness that the service draws. */
  readonly entropy: Random;
  readonly gate: SqlGate;
  readonly sessions: Sessions;
  readonly inbox: NotificationInbox;
  readonly journal: Journal;
  /** Gives a client that is about to connect the connection of an earlier one, if one was kept. */
  lendConnection(client: pg.Client): void;
  /** Takes the connection of a client that ends. @returns false where it has to be closed. */
  keepConnection(client: pg.Client): Promise<boolean>;
  /** Sets the clock that the database shows to the virtual moment. */
  showTime(): void;
  request(options: RequestOptions): ClientRequest;
}

let current: Realm | undefined;

export const currentRealm = (): Realm | undefined => current;

/** Puts a world behind the replaced functions; undefined lets them work as before. */
export function enter(realm: Realm | undefined): void {
  current = realm;
}
