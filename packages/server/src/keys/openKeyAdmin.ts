import { createLog } from "../model/log.js";
import { databaseNow } from "../store/queue.js";
import { openRunningStore, type StoreLocation } from "../store/store.js";
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
export async function openKeyAdmin(location: StoreLocation): Promise<OpenKeyAdmin> {
  const store = await openRunningStore(location, createLog("silent"));
  return { ...createKeyAdmin(store), now: () => databaseNow(store), close: () => store.close() };
}
