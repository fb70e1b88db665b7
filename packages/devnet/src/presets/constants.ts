import { type AllowedTarget, CHAIN_IDS, type Hex, hexToBytes } from "@gas-waiver/protocol";

// Constants that every devnet has. Chain id and token address are those of the public testnet, so a program for the testnet
// runs here after a change of two URLs.

export const DEVNET_CHAIN_ID = CHAIN_IDS.testnet;

/** ERC-20 with EIP-2612; 18 decimals, symbol USDT0. */
export const TEST_TOKEN_ADDRESS: Hex = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";
export const TEST_TOKEN: Uint8Array = hexToBytes(TEST_TOKEN_ADDRESS);

/** The policy of the waivers in genesis: transfer, transferFrom and approve of the test token. */
export const GENESIS_TARGETS: readonly AllowedTarget[] = [
  { address: TEST_TOKEN, selectors: ["0xa9059cbb", "0x23b872dd", "0x095ea7b3"].map(hexToBytes) },
];

/** Test tokens of each user in genesis, in the smallest unit: 1,000,000 tokens. */
export const USER_TOKENS: bigint = 1_000_000n * 10n ** 18n;

/** Balance in wei of the funded account and of each validator in genesis. They pay for their transactions. */
export const FUNDED_BALANCE: bigint = 10_000n * 10n ** 18n;

/** The gas that validators count for unwrapping and verifying a wrapper (D7). */
export const DEFAULT_CHAIN_VERIFICATION_GAS = 10_000n;

export const DEFAULT_HOST = "127.0.0.1";
export const DEFAULT_RPC_PORT = 8545;
export const DEFAULT_SERVICE_PORT = 8080;

/** The API key of the development service, which accepts it on a loopback address only. */
export const DEV_API_KEY = "gw_dev_local";

/** The publishable key of the development service, for pages and wallets on the same machine (D32). */
export const DEV_PUBLISHABLE_KEY = "gwp_dev_local";
