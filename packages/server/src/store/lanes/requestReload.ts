import type { Pool } from "../database/database.js";
import { notify } from "../database/notifications.js";
import { channelName } from "../database/sharedDatabase.js";
import type { Store } from "../store.js";

/** The channel by which an operator asks every replica to read its waivers' keys again. */
export const reloadChannel = (pool: Pick<Pool, "schema">) => channelName(pool, "gas_waiver_read");

/** Asks every replica to read its waivers' keys again. One that does not listen just then misses it. */
export async function requestReload(store: Store): Promise<void> {
  await notify(store, reloadChannel(store.pool), ["waivers"]);
}
