import { createLog } from "../model/log.js";
import { storeNow } from "../store/queue.js";
import { connectStore, type StorePlace, storeConnection } from "../store/store.js";
import { createKeyAdmin, type KeyAdmin } from "./keyAdmin.js";

/** The keys of a service, from outside of it. */
export interface OpenKeyAdmin extends KeyAdmin {
  /** The database's clock, by which keys expire. */
  now(): Promise<Date>;
  close(): Promise<void>;
}

/**
 * Opens the store of a service: by its database URL, or, while the service runs, by its data folder.
 * @throws {@link StartError} if it cannot be reached.
 */
export async function openKeyAdmin(place: StorePlace): Promise<OpenKeyAdmin> {
  const store = await connectStore(await storeConnection(place), createLog("silent"));
  return { ...createKeyAdmin(store), now: () => storeNow(store), close: () => store.close() };
}
