import {
  DEV_API_KEY,
  DEV_PUBLISHABLE_KEY,
  DEVNET_CHAIN_ID,
  DEVNET_MNEMONIC,
  TEST_TOKEN_ADDRESS,
} from "@gas-waiver/devnet";
import { accountLines, accountsJson, readHoldings } from "../demo/accounts.js";

/** The addresses of a running `gas-waiver dev`. */
export interface DevAddresses {
  /** The service's URL. */
  readonly url: string;
  readonly rpcUrl: string;
  /** The waiver that carries the transactions. */
  readonly waiver: string;
}

/** Returns the accounts, the token and the next steps as lines for a person. */
export async function devLines(
  { url, rpcUrl, waiver }: DevAddresses,
  signal: AbortSignal,
): Promise<string[]> {
  return [
    ...accountLines(await readHoldings(rpcUrl, signal)),
    `  mnemonic  ${DEVNET_MNEMONIC}`,
    `token    ${TEST_TOKEN_ADDRESS}  USDT0, 18 decimals`,
    "",
    "next",
    `  1. send a transaction of your own: ${url}/docs has the routes, and the package for programs is`,
    "     npm install @gas-waiver/client",
    "  2. let the waiver call your contract:",
    `     npx gas-waiver governance allow --dev --rpc-url ${rpcUrl} --waiver ${waiver} --target ADDRESS`,
    `  3. see these accounts again: npx gas-waiver accounts --rpc-url ${rpcUrl}`,
    "",
  ];
}

/** Returns everything that a script needs, as one line of JSON. */
export async function devJson({ url, rpcUrl, waiver }: DevAddresses, signal: AbortSignal): Promise<string> {
  return JSON.stringify({
    url,
    rpcUrl,
    gatewayUrl: `${url}/rpc/${DEV_PUBLISHABLE_KEY}`,
    chainId: Number(DEVNET_CHAIN_ID),
    apiKey: DEV_API_KEY,
    publishableKey: DEV_PUBLISHABLE_KEY,
    token: TEST_TOKEN_ADDRESS,
    waiver,
    mnemonic: DEVNET_MNEMONIC,
    accounts: accountsJson(await readHoldings(rpcUrl, signal)),
  });
}
