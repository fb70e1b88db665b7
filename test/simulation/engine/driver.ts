import pg from "pg";
import { currentOwner, type Owner } from "./owner.js";
import { currentRealm, type Realm } from "./realm.js";

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;
type Callback = (error: unknown, result?: unknown) => void;

const prototype = pg.Client.prototype as unknown as Record<string, AnyFunction>;
const original = {
  query: prototype.query as AnyFunction,
  connect: prototype.connect as AnyFunction,
  end: prototype.end as AnyFunction,
  handleNotification: prototype._handleNotification as AnyFunction,
};

/** Runs a statement at once, on a connection of the simulation itself. */
export async function queryNow<Row>(client: pg.Client, text: string, values: unknown[] = []): Promise<Row[]> {
  const { rows } = (await original.query.call(client, text, values)) as { rows: Row[] };
  return rows;
}

/** Opens a connection of the simulation itself, also while a world runs. */
export async function connectNow(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  await original.connect.call(client);
  return client;
}

export async function endNow(client: pg.Client): Promise<void> {
  await original.end.call(client);
}

/** The sessions that listen to channels, and the notifications that have come and are not told yet. */
export class NotificationInbox {
  readonly #listeners = new Map<pg.Client, Owner | undefined>();
  #come: { readonly client: pg.Client; readonly message: unknown }[] = [];

  listen(client: pg.Client): void {
    this.#listeners.set(client, currentOwner());
    client.once("end", () => this.#listeners.delete(client));
  }

  take(client: pg.Client, message: unknown): void {
    this.#come.push({ client, message });
  }

  /** After a round trip of each listener, all notifications of the last statement have come. */
  async collect(): Promise<void> {
    for (const client of this.#listeners.keys()) await queryNow(client, "select").catch(() => {});
  }

  /** Tells each listener, one after the other, some ms later. */
  deliver({ clock, entropy }: Realm): void {
    const come = this.#come.splice(0);
    for (const [client, owner] of this.#listeners)
      for (const { message } of come.filter((one) => one.client === client))
        clock.schedule(entropy.between(0.5, 2), () => client.emit("notification", message), owner);
  }
}

/**
 * Leads everything that the service does on connections to PostgreSQL through the gate of the world that runs. The change holds for
 * the whole process.
 */
export function installDriver(): void {
  prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const realm = currentRealm();
    if (realm === undefined) return original.query.apply(this, args);
    const last = args.at(-1);
    const callback = typeof last === "function" ? (args.pop() as Callback) : undefined;
    return settle(
      realm.gate.run(this, () => runStatement(realm, this, args)),
      callback,
    );
  } as AnyFunction;
  prototype.connect = function (this: pg.Client, callback?: Callback) {
    const realm = currentRealm();
    if (realm === undefined) return original.connect.call(this, callback);
    const owner = currentOwner();
    owner?.clients.add(this);
    this.once("end", () => owner?.clients.delete(this));
    const connecting = realm.gate.run(this, () => original.connect.call(this) as Promise<void>);
    return settle(connecting, callback && ((error) => callback(error, this)));
  } as AnyFunction;
  prototype.end = function (this: pg.Client, callback?: Callback) {
    const realm = currentRealm();
    if (realm === undefined) return original.end.call(this, callback);
    return settle(realm.activity.count(original.end.call(this) as Promise<void>), callback);
  } as AnyFunction;
  prototype._handleNotification = function (this: pg.Client, message: unknown) {
    const realm = currentRealm();
    return realm === undefined
      ? original.handleNotification.call(this, message)
      : realm.inbox.take(this, message);
  } as AnyFunction;
  keepIdleConnections();
}

/** A pool would close idle connections after some virtual seconds, and open new ones for real. */
function keepIdleConnections(): void {
  const { Pool } = pg;
  class KeepingPool extends Pool {
    constructor(config: pg.PoolConfig) {
      super({ ...config, idleTimeoutMillis: 0 });
    }
  }
  Object.defineProperty(pg, "Pool", { value: KeepingPool, configurable: true, writable: true });
}

/** Gives the outcome to the callback; without one, the promise is the outcome. */
function settle<T>(promise: Promise<T>, callback: Callback | undefined): Promise<T> | undefined {
  if (callback === undefined) return promise;
  promise.then(
    (result) => callback(null, result),
    (error) => callback(error),
  );
  return undefined;
}

async function runStatement(realm: Realm, client: pg.Client, args: unknown[]): Promise<unknown> {
  const [config, values] = args as [string | pg.QueryConfig, unknown[] | undefined];
  const text = typeof config === "string" ? config : config.text;
  // The server's statistics of dead rows follow real time.
  if (text.includes("n_dead_tup")) return { rows: [{ dead: 0 }], rowCount: 1 };
  realm.showTime();
  const given = values ?? (typeof config === "string" ? [] : config.values) ?? [];
  const about = `${realm.clock.now.toFixed(3)} ${currentOwner()?.name} sql ${text.trim().slice(0, 80)} ${show(given)}`;
  let result: pg.QueryResult;
  try {
    result = (await original.query.apply(client, args)) as pg.QueryResult;
  } catch (error) {
    realm.journal.note(`${about} failed ${(error as { code?: string }).code}`);
    throw error;
  }
  realm.journal.note(`${about} ${result.rowCount}`);
  if (/^\s*listen /.test(text)) realm.inbox.listen(client);
  if (text.includes("pg_notify")) await realm.inbox.collect();
  realm.inbox.deliver(realm);
  return result;
}

/** Writes the values of a statement for the journal. */
function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join()}]`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (value instanceof Date) return value.toISOString();
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
