import { bytesToHex, crypto } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { Miner } from "../chain/miner.js";
import { DEVNET_CHAIN_ID } from "../constants.js";
import { accountMethods } from "./accountMethods.js";
import { blockMethods } from "./blockMethods.js";
import { controlMethods } from "./controlMethods.js";
import { feeMethods } from "./feeMethods.js";
import { filterMethods } from "./filters.js";
import { toQuantity } from "./format.js";
import { fundingMethods } from "./fundingMethods.js";
import type { Methods } from "./method.js";
import { bytes } from "./params.js";
import { poolMethods } from "./poolMethods.js";
import { stateMethods } from "./stateMethods.js";
import { subscriptionMethods } from "./subscriptions.js";
import { traceMethods } from "./traceMethods.js";
import { transactionMethods } from "./transactionMethods.js";

export interface MethodDependencies {
  readonly chain: Chain;
  readonly miner: Miner;
  readonly clientVersion: string;
}

/** Every method of the node, by name. */
export function createMethods({ chain, miner, clientVersion }: MethodDependencies): Methods {
  return {
    ...networkMethods(clientVersion),
    ...blockMethods(chain),
    ...filterMethods(chain),
    ...subscriptionMethods(chain),
    ...stateMethods(chain),
    ...transactionMethods(chain),
    ...accountMethods(chain),
    ...feeMethods(chain),
    ...poolMethods(chain),
    ...traceMethods(chain),
    ...controlMethods(chain, miner),
    ...fundingMethods(chain),
  };
}

function networkMethods(clientVersion: string): Methods {
  return {
    eth_chainId: () => toQuantity(DEVNET_CHAIN_ID),
    net_version: () => DEVNET_CHAIN_ID.toString(),
    net_listening: () => true,
    net_peerCount: () => "0x0",
    web3_clientVersion: () => clientVersion,
    web3_sha3: ([data]) => bytesToHex(crypto.keccak256(bytes(data, "data"))),
    rpc_modules: () =>
      Object.fromEntries(
        ["anvil", "debug", "devnet", "eth", "evm", "net", "txpool", "web3"].map((name) => [name, "1.0"]),
      ),
    eth_syncing: () => false,
    eth_protocolVersion: () => "0x41",
    eth_mining: () => false,
    eth_hashrate: () => "0x0",
  };
}
