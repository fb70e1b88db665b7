import { createLog } from "../model/telemetry/log.js";
import { databaseNow } from "../store/database/databaseNow.js";
import { openRunningStore, type StoreLocation } from "../store/store.js";
import { createKeyAdmin } from "./keyAdmin.js";

/** Manages the keys of a service from outside its process. */
export type OpenKeyAdmin = Awaited<ReturnType<typeof openKeyAdmin>>;

/**
 * Connects to the store of a service, by its database URL or, while the service runs, by its data folder.
 * @throws {@link StartError} if the store cannot be reached.
 */
export async function openKeyAdmin(location: StoreLocation) {
  const store = await openRunningStore(location, createLog("silent"));
  return {
    ...createKeyAdmin(store),
    /** @returns the time by the database's clock, which decides when keys expire. */
    now: () => databaseNow(store),
    close: () => store.close(),
  };
}
