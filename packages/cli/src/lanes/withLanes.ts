import { type LaneAdmin, openLaneAdmin } from "@gas-waiver/server";
import { NODE_URL_SETTING } from "../jsonRpcClient.js";
import { commandLineUser } from "../store/commandLineUser.js";
import { type StoreValues, withStore } from "../store/withStore.js";

/** The setting of commands on lanes that ask the chain's node. */
export const NODE_SETTING = {
  rpcUrl: { ...NODE_URL_SETTING, help: "JSON-RPC URL of the chain's node.", required: true },
} as const;

/** Opens the lanes of a service's store, uses them and closes the store. */
export const withLanes = <T>(values: StoreValues, use: (lanes: LaneAdmin) => Promise<T>): Promise<T> =>
  withStore(values, (place) => openLaneAdmin(place, commandLineUser()), use);
