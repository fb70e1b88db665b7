import type { Logger } from "../../model/telemetry/log.js";
import type { Store } from "../store.js";
import { type Connection, createConnection, END_LOST_SESSION } from "./database.js";

const RECONNECT_MS = 1_000;

/** Sends each payload (fewer than 8,000 bytes) to everybody who listens to the channel. */
export async function notify(
  { pool }: Pick<Store, "pool">,
  channel: string,
  payloads: readonly string[],
): Promise<void> {
  await pool.query("select pg_notify($1, t) from unnest($2::text[]) t", [channel, payloads]);
}

export interface ListenerEvents {
  /** The connection listens: at the start, and again after a loss. Notifications in between are lost. */
  onListening(): void;
  onNotification(channel: string, payload: string): void;
}

/**
 * Listens to the channels on a connection of its own, and connects again a second after the connection was lost, or the
 * database's name has come to lead to another server.
 * @param channels names that need no quotes in SQL.
 */
export function listen(
  { connection: options, onOtherServer }: Pick<Store, "connection" | "onOtherServer">,
  channels: readonly string[],
  { onListening, onNotification }: ListenerEvents,
  log: Logger,
): { close(): Promise<void> } {
  let closed = false;
  let current: Connection | undefined;
  let retry: NodeJS.Timeout | undefined;
  let trouble: string | undefined;
  const connect = async () => {
    const onLost = (error?: Error) => {
      if (closed || current !== connection) return;
      current = undefined;
      const err = error?.message ?? "it was closed";
      // A database that stays away would have the same line every second.
      if (err !== trouble) log.warn({ err }, "the connection for notifications between replicas was lost");
      trouble = err;
      retry = setTimeout(start, RECONNECT_MS);
    };
    const connection = createConnection(options, { onLost, onNotification });
    current = connection;
    try {
      await connection.connect();
      await connection.query(END_LOST_SESSION);
      await connection.query(channels.map((channel) => `listen ${channel}`).join("; "));
      trouble = undefined;
      onListening();
    } catch (error) {
      onLost(error as Error);
      await connection.end().catch(() => {});
    }
  };
  const follow = () => {
    // The server that is left may not answer any more, and so not end the connection either.
    const left = current;
    current = undefined;
    if (!left) return;
    retry = setTimeout(start, RECONNECT_MS);
    left.end().catch(() => {});
  };
  const start = () => {
    connect().catch((error: Error) =>
      log.warn({ err: error.message }, "notifications between replicas cannot be received"),
    );
  };
  onOtherServer.add(follow);
  start();
  return {
    async close() {
      closed = true;
      onOtherServer.delete(follow);
      clearTimeout(retry);
      await current?.end().catch(() => {});
    },
  };
}
