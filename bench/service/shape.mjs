// Shared by the benchmarks of the service: the chain, the accounts, and the phases of the load.
import { createHash } from "node:crypto";
import { accountsOf, DEVNET_CHAIN_ID } from "../../packages/devnet/dist/presets/index.js";
import { bytesToHex, hexToBytes, MARKER_ADDRESS } from "../../packages/protocol/dist/index.js";

export const CHAIN_ID = Number(DEVNET_CHAIN_ID);
/** The waiver of every relay. It is registered on the devnet, so that both nodes accept its wrappers. */
export const [WAIVER] = accountsOf("waiver");
export const API_KEY = "benchmark-key-90e3b7c15d2f48a6c7";
/** The key of a client that asks now and then beside the load. */
export const OTHER_KEY = "benchmark-other-key-41d0aa6f7b29";
/** The publishable key of the gateway's URL. */
export const GATEWAY_KEY = "gwp_benchmark";
/** Hash of block 0 of the node that accepts everything. */
export const GENESIS_HASH = `0x${createHash("sha256").update("the node of the benchmark").digest("hex")}`;
/** The recipient of a wrapper. */
export const MARKER = bytesToHex(MARKER_ADDRESS);
/** Gas limit of a sample relay's wrapper, above that of its InnerTx. */
export const WRAPPER_GAS = 100_000n;
/** Block time of the node that accepts everything. The devnet makes a block every 500 ms. */
export const BLOCK_MS = 200;

/** The phases at saturation: transactions in a request, and requests in flight. */
export const SATURATION = [
  { batch: 1, connections: 64 },
  { batch: 10, connections: 32 },
  { batch: 100, connections: 8 },
];
/** The run that is profiled. */
export const PROFILED = { batch: 10, connections: 32, transactions: 5_000, seconds: 20 };
/** Offered requests a second, of one transaction each. */
export const RATES = [100, 500, 1_000];
/** Calls of the gateway and what they are compared with, one at a time and in turn. They end at either limit. */
export const IN_TURN = { turns: 1_000, seconds: 8 };
/**
 * The loads before the first phase, for which V8 compiles the code of both kinds of requests. Each ends at either limit.
 */
export const WARM_UPS = [
  { transactions: 20_000, seconds: 5, batch: 10, connections: 8 },
  { transactions: 10_000, seconds: 5, batch: 1, connections: 64 },
];
/** The load before the offered rates, whose requests have one transaction. Every contestant can carry this rate. */
export const WARM_UP_OFFER = { perSecond: 300, seconds: 4 };

/** The key of one of the users: each sends one transaction in a run. */
export function userKey(i) {
  return Uint8Array.from(createHash("sha256").update(`user ${i} of the benchmark`).digest());
}

/** The text of a call that sends a transaction to a node. */
export const sendCall = (raw, id) =>
  `{"jsonrpc":"2.0","id":${id},"method":"eth_sendRawTransaction","params":["${raw}"]}`;

export const waiverKey = () => hexToBytes(WAIVER.privateKey);
