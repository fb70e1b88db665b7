import { type LaneAdmin, openLaneAdmin } from "@gas-waiver/server";
import { url } from "../settings/parsers.js";
import { commandLineUser } from "../store/commandLineUser.js";
import { type StoreValues, withStore } from "../store/withStore.js";

/** The setting of commands on lanes that ask the chain's node. */
export const NODE_SETTING = {
  rpcUrl: {
    flag: "rpc-url",
    env: "GAS_WAIVER_RPC_URL",
    placeholder: "URL",
    help: "JSON-RPC URL of the chain's node.",
    required: true,
    parse: url("http:", "https:"),
  },
} as const;

/** Opens the lanes of a service's store, uses them and closes the store. */
export const withLanes = <T>(values: StoreValues, use: (lanes: LaneAdmin) => Promise<T>): Promise<T> =>
  withStore(values, (place) => openLaneAdmin(place, commandLineUser()), use);
