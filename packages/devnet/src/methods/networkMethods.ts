import { bytesToHex, crypto } from "@gas-waiver/protocol";
import { DEVNET_CHAIN_ID } from "../presets/constants.js";
import type { Methods } from "../rpc/method.js";
import { bytes } from "../rpc/params.js";
import { toQuantity } from "./format.js";

/** Chain id, client version and the constants that clients ask a node for. */
export function networkMethods(clientVersion: string): Methods {
  return {
    eth_chainId: () => toQuantity(DEVNET_CHAIN_ID),
    net_version: () => DEVNET_CHAIN_ID.toString(),
    net_listening: () => true,
    net_peerCount: () => "0x0",
    web3_clientVersion: () => clientVersion,
    web3_sha3: ([data]) => bytesToHex(crypto.keccak256(bytes(data, "data"))),
    eth_syncing: () => false,
    eth_protocolVersion: () => "0x41",
    eth_mining: () => false,
    eth_hashrate: () => "0x0",
  };
}
