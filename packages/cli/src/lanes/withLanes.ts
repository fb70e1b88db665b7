import { type LaneAdmin, openLaneAdmin } from "@gas-waiver/server";
import { commandLineUser } from "../store/commandLineUser.js";
import { type StoreValues, withStore } from "../store/withStore.js";

/** Opens the lanes of a service's store, uses them and closes the store. */
export const withLanes = <T>(values: StoreValues, use: (lanes: LaneAdmin) => Promise<T>): Promise<T> =>
  withStore(values, (place) => openLaneAdmin(place, commandLineUser()), use);
