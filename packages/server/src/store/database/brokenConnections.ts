import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import pg from "pg";
import { StoreUnavailableError, troubleNamed } from "./storeTrouble.js";

// Cuts connections whose answers can no longer be trusted, or do not come.

/**
 * The driver's client, but bytes that it cannot read fail the connection. The driver reads them in a listener of the socket,
 * where an exception would end the process: PostgreSQL with GSSAPI asks for a login that the driver does not know.
 */
export class SafeClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { readonly connection: DriverProtocol };
    const attach = connection.attachListeners;
    connection.attachListeners = (stream) =>
      attach.call(connection, {
        on: (event, listener) =>
          stream.on(event, (...values) => {
            try {
              listener(...values);
            } catch (error) {
              cut(this, new Error(`the database's answer cannot be read: ${(error as Error).message}`));
            }
          }),
      });
  }
}

/** The part of the driver's connection that reads what the socket brings. */
interface DriverProtocol {
  attachListeners(stream: Pick<EventEmitter, "on">): void;
}

/**
 * Cuts a connection whose wait for the synchronous standby was cancelled: PostgreSQL would report a commit that the
 * standby may not have. The name of PostgreSQL's own function is the same in all languages.
 */
export function cutAfterCancelledSync(
  client: pg.PoolClient,
  { routine }: { readonly routine?: string | undefined },
): void {
  if (routine !== "SyncRepWaitForLSN") return;
  cut(client, new Error("connection terminated: the wait for the synchronous standby was cancelled"));
}

/**
 * Cuts a connection whose server became read-only: another one is the primary now, and this one shows what was. Since version
 * 14, the server tells that before the result of the next query.
 */
export function cutWhenReadOnly(client: pg.PoolClient): void {
  const { connection } = client as unknown as { readonly connection: EventEmitter };
  connection.on("parameterStatus", ({ parameterName, parameterValue }: ParameterStatus) => {
    if (parameterName === "default_transaction_read_only" && parameterValue === "on")
      cut(client, new StoreUnavailableError(troubleNamed("readOnly")));
  });
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** Fails the query before what has come behind the message is read, as if the socket had failed. */
function cut(client: pg.ClientBase, error: Error): void {
  (client as unknown as { readonly connection: EventEmitter }).connection.emit("error", error);
  socketOf(client).destroy();
}

/**
 * Cuts a connection that is in use, or of a pool that has ended, and on which no byte has come or gone for `timeoutMs`; its
 * query fails. This replaces the driver's own `query_timeout`, which makes a timer for each query. Those timers kept dead objects alive
 * until a major collection: half of all the objects that it had to free in a busy service.
 */
export function cutSilentConnections(pool: pg.Pool, timeoutMs: number): void {
  const inUse = new WeakSet<pg.PoolClient>();
  pool.on("connect", (client) => {
    const socket = socketOf(client);
    socket.setTimeout(timeoutMs);
    socket.on("timeout", () => {
      // The goodbye on a connection that has died gets no answer either, and would keep the socket.
      if (!inUse.has(client) && !pool.ending) return;
      socket.destroy(new Error(`the database gave no answer in time: timeout of ${timeoutMs} ms`));
    });
  });
  pool.on("acquire", (client) => inUse.add(client));
  pool.on("release", (_, client) => inUse.delete(client));
}

/** The driver's stream is the socket itself once the connection is made, with TLS or without. */
export function socketOf(connection: unknown): Socket {
  return (connection as { readonly connection: { readonly stream: Socket } }).connection.stream;
}
