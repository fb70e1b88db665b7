import { createHash } from "node:crypto";
import { accountsOf, DEVNET_CHAIN_ID } from "../../packages/devnet/dist/presets/index.js";
import { bytesToHex, hexToBytes, MARKER_ADDRESS } from "../../packages/protocol/dist/index.js";

export const CHAIN_ID = Number(DEVNET_CHAIN_ID);
/** Whom every relay pays with: one of the devnet's registered waivers, so that both nodes take it. */
export const [WAIVER] = accountsOf("waiver");
export const API_KEY = "benchmark-key";
/** The first block of the node that accepts everything. */
export const GENESIS_HASH = `0x${createHash("sha256").update("the node of the benchmark").digest("hex")}`;
/** Where a wrapper goes, and what its gas limit has on top of the inner's for the relays that are samples. */
export const MARKER = bytesToHex(MARKER_ADDRESS);
export const WRAPPER_GAS = 100_000n;
/** Blocks of the node that accepts everything. The devnet's come twice a second. */
export const BLOCK_MS = 200;

/** Transactions in a request, and the requests that are kept under way, at saturation. */
export const SATURATION = [
  { batch: 1, connections: 64 },
  { batch: 10, connections: 32 },
  { batch: 100, connections: 8 },
];
/** The run that is profiled. */
export const PROFILED = { batch: 10, connections: 32, transactions: 5_000, seconds: 20 };
/** Offered requests a second, of one transaction each. */
export const RATES = [100, 500, 1_000];
/** Before the clock runs, so that compiling does not count: at most so many, at most so long. */
export const WARM_UP = { transactions: 4_000, seconds: 4, batch: 10, connections: 8 };
/** The same before the offered rates, whose work has another shape: slow enough for all. */
export const WARM_UP_OFFER = { perSecond: 300, seconds: 4 };

/** The key of one of the users: each sends one transaction in a run. */
export function userKey(i) {
  return Uint8Array.from(createHash("sha256").update(`user ${i} of the benchmark`).digest());
}

export const waiverKey = () => hexToBytes(WAIVER.privateKey);
