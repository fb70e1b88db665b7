import type { EventEmitter } from "node:events";
import pg from "pg";
import { joinCore } from "./core.js";
import { currentOwner, runAs } from "./owner.js";
import { currentRealm, type Realm } from "./realm.js";
import type { Session } from "./session.js";

/** A statement that fails as one does on a full disk. Within a transaction, the server's own failure has to end it. */
const DISK_FULL = `do $$ begin
  raise exception 'could not extend file: No space left on device' using errcode = '53100';
end $$`;

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;
type Callback = (error: unknown, result?: unknown) => void;

const prototype = pg.Client.prototype as unknown as Record<string, AnyFunction>;
const original = {
  query: prototype.query as AnyFunction,
  connect: prototype.connect as AnyFunction,
  end: prototype.end as AnyFunction,
  handleNotification: prototype._handleNotification as AnyFunction,
};

async function connect(client: pg.Client): Promise<void> {
  await original.connect.call(client);
  joinCore((client as unknown as { readonly processID: number }).processID);
}

/** Runs a statement at once, on a connection of the simulation itself. */
export async function queryNow<Row>(client: pg.Client, text: string, values: unknown[] = []): Promise<Row[]> {
  const { rows } = (await original.query.call(client, named(text), values)) as { rows: Row[] };
  return rows;
}

/** Opens a connection of the simulation itself, also while a world runs. */
export async function connectNow(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  await connect(client);
  return client;
}

export async function endNow(client: pg.Client): Promise<void> {
  await original.end.call(client);
}

/**
 * Leads everything that the service does on connections to PostgreSQL through the gate of the world that runs. The change holds for
 * the whole process.
 */
export function installDriver(): void {
  prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const realm = currentRealm();
    if (realm === undefined) return original.query.apply(this, args);
    const callback = typeof args.at(-1) === "function" ? (args.pop() as Callback) : undefined;
    const session = realm.sessions.of(this);
    return settle(
      realm.gate.run(session, () => runStatement(realm, session, args)),
      callback,
    );
  } as AnyFunction;
  prototype.connect = function (this: pg.Client, callback?: Callback) {
    const realm = currentRealm();
    if (realm === undefined) return original.connect.call(this, callback);
    // A database that is away has no session any more that could serve.
    if (!realm.sessions.isAway) realm.lendConnection(this);
    const connecting = realm.gate.run(realm.sessions.open(this), async () => {
      realm.sessions.assertReachable();
      await connect(this);
    });
    // While the answer is on its way, a lost connection is the error of this call and no event of the client.
    const ignore = () => {};
    this.on("error", ignore);
    const stopIgnoring = () => void this.off("error", ignore);
    connecting.then(stopIgnoring, stopIgnoring);
    return settle(connecting, callback && ((error) => callback(error, this)));
  } as AnyFunction;
  prototype.end = function (this: pg.Client, callback?: Callback) {
    const realm = currentRealm();
    if (realm === undefined) return original.end.call(this, callback);
    const owner = currentOwner();
    return settle(
      realm.gate.exclusively(() => runAs(owner, () => endClient(realm, this))),
      callback,
    );
  } as AnyFunction;
  prototype._handleNotification = function (this: pg.Client, message: unknown) {
    const realm = currentRealm();
    return realm === undefined
      ? original.handleNotification.call(this, message)
      : realm.inbox.take(this, message);
  } as AnyFunction;
  keepIdleConnections();
}

/** Ends a client for its process. Where its connection is kept, the client hears what it would hear of a closed one. */
async function endClient(realm: Realm, client: pg.Client): Promise<void> {
  if (!(await realm.keepConnection(client))) {
    await original.end.call(client);
    return;
  }
  (client as unknown as { readonly connection: EventEmitter }).connection.emit("end");
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

async function runStatement(realm: Realm, session: Session, args: unknown[]): Promise<unknown> {
  const [config, values] = args as [string | pg.QueryConfig, unknown[] | undefined];
  const text = typeof config === "string" ? config : config.text;
  // The server's statistics of dead rows follow real time.
  if (text.includes("n_dead_tup")) return { rows: [{ dead: 0 }], rowCount: 1 };
  realm.showTime();
  const given = values ?? (typeof config === "string" ? [] : config.values) ?? [];
  const owner = session.owner?.name;
  const about = `${realm.clock.now.toFixed(3)} ${owner} sql ${text.trim().slice(0, 80)} ${show(given)}`;
  try {
    const isRefused = realm.sessions.refuses(text);
    const asked = isRefused ? [DISK_FULL] : [named(session.adapt(config)), values];
    const result = (await original.query.apply(session.client, asked)) as pg.QueryResult;
    realm.journal.note(`${about} ${result.rowCount}`);
    if (/^\s*listen /.test(text)) realm.inbox.listen(session);
    if (text.includes("pg_notify")) await realm.inbox.collect();
    return result;
  } catch (error) {
    realm.journal.note(`${about} failed ${(error as { code?: string }).code}`);
    throw error;
  } finally {
    realm.inbox.deliver(realm);
  }
}

const names = new Map<string, string>();

/**
 * Names a statement that the service leaves without a name, so that connections plan it once: they outlive their worlds. A text with an
 * id comes once only.
 */
function named(config: string | pg.QueryConfig): string | pg.QueryConfig {
  const { text, name } = typeof config === "string" ? { text: config, name: undefined } : config;
  if (
    name !== undefined ||
    !/^\s*(?:select|with|insert|update|delete)\s[^;]*$/.test(text) ||
    text.includes("'::uuid")
  )
    return config;
  const given = names.get(text) ?? `unnamed ${names.size + 1}`;
  names.set(text, given);
  return { ...(typeof config === "string" ? { text } : config), name: given };
}

/** Writes the values of a statement for the journal. */
function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join()}]`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (value instanceof Date) return value.toISOString();
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
