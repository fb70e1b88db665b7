// Facts of the public chain Stable, with their sources (D39): the profile `stable` of devnet and service is made of them. Pages
// are named as github.com/stablelabs/dev-docs has them under docs/pages/en, read in November 2026.
import { define } from "../define.js";
import { CHAIN_IDS } from "../network.js";

/** Both networks of the chain, by the names that `--network` takes (reference/mainnet-information, testnet-information). */
export const STABLE_NETWORKS = /* @__PURE__ */ define(
  () =>
    ({
      stable: { chainId: CHAIN_IDS.mainnet, rpcUrl: "https://rpc.stable.xyz" },
      "stable-testnet": { chainId: CHAIN_IDS.testnet, rpcUrl: "https://rpc.testnet.stable.xyz" },
    }) as const,
);

/** The facts that both networks have in common. */
export const STABLE = {
  /** "~0.7 seconds" (reference/testnet-information). */
  blockTimeMs: 700,
  /** A block is final at once (explanation/finality). */
  isFinalAtOnce: true,
  /** The public endpoint answers 429 above it (reference/mainnet-information). */
  publicRpcLimit: { requests: 1_000, windowMs: 10_000 },
  /** 1 gwei; nobody pays a tip (explanation/gas-pricing, reference/gas-pricing-api). */
  baseFee: 1_000_000_000n,
  /** The gas token as an ERC-20; as the native asset it has 18 decimals (explanation/usdt0-behavior). */
  tokenDecimals: 6,
  /** The methods with a check mark (reference/json-rpc-api), and those of `net` and `web3`, which the page names only. */
  methods: [
    "eth_syncing",
    "eth_gasPrice",
    "eth_maxPriorityFeePerGas",
    "eth_feeHistory",
    "eth_chainId",
    "eth_blockNumber",
    "eth_getBalance",
    "eth_getProof",
    "eth_getBlockByNumber",
    "eth_getBlockByHash",
    "eth_getCode",
    "eth_getStorageAt",
    "eth_call",
    "eth_estimateGas",
    "eth_getBlockTransactionCountByNumber",
    "eth_getBlockTransactionCountByHash",
    "eth_getTransactionByBlockNumberAndIndex",
    "eth_getTransactionByBlockHashAndIndex",
    "eth_getTransactionCount",
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
    "eth_sendTransaction",
    "eth_sendRawTransaction",
    "eth_sign",
    "eth_pendingTransactions",
    "eth_resend",
    "eth_accounts",
    "eth_subscribe",
    "eth_unsubscribe",
    "eth_getTransactionLogs",
    "eth_signTypedData",
    "eth_newPendingTransactionFilter",
    "eth_newBlockFilter",
    "eth_newFilter",
    "eth_getFilterChanges",
    "eth_getFilterLogs",
    "eth_uninstallFilter",
    "eth_getLogs",
    "debug_traceTransaction",
    "debug_traceBlockByNumber",
    "debug_traceBlockByHash",
    "debug_intermediateRoots",
    "debug_printBlock",
    "net_version",
    "net_listening",
    "net_peerCount",
    "web3_clientVersion",
    "web3_sha3",
  ],
  /** The type of a transaction with two-dimensional nonces, on the testnet since 1.4.0 (reference/network-upgrades). */
  customTxType: 0x3f,
} as const;
