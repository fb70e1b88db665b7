import { type LaneAdmin, openLaneAdmin } from "@gas-waiver/server";
import { SERVE_SETTINGS } from "../serve/serveSettings.js";
import { commandLineUser } from "../store/commandLineUser.js";
import { type StoreValues, withStore } from "../store/withStore.js";

/** The setting of commands on lanes that ask the chain's nodes: the service's own, so that they take its file. */
export const NODE_SETTING = { rpcUrl: SERVE_SETTINGS.rpcUrl } as const;

/** Opens the lanes of a service's store, uses them and closes the store. */
export const withLanes = <T>(values: StoreValues, use: (lanes: LaneAdmin) => Promise<T>): Promise<T> =>
  withStore(values, (place) => openLaneAdmin(place, commandLineUser()), use);
