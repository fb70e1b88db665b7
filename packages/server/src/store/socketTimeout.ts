import type { Socket } from "node:net";
import type pg from "pg";

/** What has no answer for so long is given up. */
export const ANSWER_MS = 10_000;

/**
 * Cuts a connection of the pool that is used and on which nothing has come or gone for so long: its query fails. The
 * driver's own limit (`query_timeout`) makes a timer for each query, and in V8 they had one another's garbage outlive its
 * time: half of what a busy service left to large collections.
 */
export function limitSilence(pool: pg.Pool, ms = ANSWER_MS): void {
  const uses = new WeakMap<pg.PoolClient, { isUsed: boolean }>();
  pool.on("connect", (client) => {
    const use = { isUsed: false };
    uses.set(client, use);
    const socket = socketOf(client);
    socket.setTimeout(ms);
    socket.on("timeout", () => {
      if (use.isUsed) socket.destroy(new Error(`the database gave no answer in time: timeout of ${ms} ms`));
    });
  });
  const note = (client: pg.PoolClient, isUsed: boolean) => {
    const use = uses.get(client);
    if (use) use.isUsed = isUsed;
  };
  pool.on("acquire", (client) => note(client, true));
  pool.on("release", (_, client) => note(client, false));
}

/** Has a connection of such a pool wait longer for its answers; without `ms`, as the others do. */
export function allowSilence(client: pg.PoolClient, ms = ANSWER_MS): void {
  socketOf(client).setTimeout(ms);
}

/** Once the connection is made, the stream is the socket, behind TLS or not. */
function socketOf(client: pg.PoolClient): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}
