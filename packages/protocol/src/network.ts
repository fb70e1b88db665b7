import { hexToBytes } from "./encoding/hex.js";

/** Sentinel address: a transaction is a WrapperTx if and only if its `to` is this one. */
export const MARKER_ADDRESS: Uint8Array = hexToBytes("0x000000000000000000000000000000000000f333");

/** The system contract that holds the waivers and their policies (D12). */
export const REGISTRY_ADDRESS: Uint8Array = hexToBytes("0x000000000000000000000000000000000000f334");

/** Chain identifiers that are signed into an InnerTx (D27). The devnet uses the testnet's. */
export const CHAIN_IDS = { mainnet: 988n, testnet: 2201n } as const;
