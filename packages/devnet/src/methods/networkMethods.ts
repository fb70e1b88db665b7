import { bytesToHex, crypto } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import { inNamespaces, type Methods } from "../rpc/method.js";
import { bytes } from "../rpc/params.js";
import { toQuantity } from "./format.js";

/** Chain id, client version and the constants that clients ask a node for. */
export function networkMethods(chain: Chain, clientVersion: string): Methods {
  return {
    anvil_nodeInfo: () => nodeInfoOf(chain),
    ...inNamespaces(["anvil", "hardhat"], { metadata: () => metadataOf(chain, clientVersion) }),
    eth_chainId: () => toQuantity(chain.options.chainId),
    net_version: () => chain.options.chainId.toString(),
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

/** The chain in the form that libraries for contracts read from development nodes. */
function metadataOf({ head, ledger, options }: Chain, clientVersion: string) {
  return {
    clientVersion,
    chainId: Number(options.chainId),
    // Another chain has another genesis, also when it begins in the same second.
    instanceId: ledger.byNumber(0)?.hash ?? null,
    latestBlockNumber: head.number,
    latestBlockHash: head.hash,
    forkedNetwork: null,
  };
}

function nodeInfoOf({ head, options }: Chain) {
  return {
    currentBlockNumber: toQuantity(head.number),
    currentBlockTimestamp: Number(head.timestamp),
    currentBlockHash: head.hash,
    hardFork: "Prague",
    transactionOrder: "fifo",
    environment: {
      baseFee: toQuantity(options.baseFee),
      chainId: Number(options.chainId),
      gasLimit: toQuantity(options.blockGasLimit),
      gasPrice: toQuantity(options.baseFee || options.minGasPrice),
    },
    forkConfig: { forkUrl: null, forkBlockNumber: null, forkRetryBackoff: null },
  };
}
