import { DEV_API_KEY, DEV_PUBLISHABLE_KEY, DEVNET_MNEMONIC, TEST_TOKEN_ADDRESS } from "@gas-waiver/devnet";
import { accountLines, accountsJson, readHoldings } from "../demo/accounts.js";

/** The addresses of a running `gas-waiver dev`. */
export interface DevAddresses {
  /** The service's URL. */
  readonly url: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  /** The waiver that carries the transactions. */
  readonly waiver: string;
}

/** Returns the accounts, the token and the next steps as lines for a person. */
export async function devLines(
  { url, rpcUrl, waiver }: DevAddresses,
  signal: AbortSignal,
): Promise<string[]> {
  const holdings = await readHoldings(rpcUrl, signal);
  const [{ decimals } = { decimals: 18 }] = holdings;
  return [
    ...accountLines(holdings),
    `  mnemonic  ${DEVNET_MNEMONIC}`,
    `token    ${TEST_TOKEN_ADDRESS}  USDT0, ${decimals} decimals${decimals === 18 ? "" : ", and the native balance"}`,
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
export async function devJson(addresses: DevAddresses, signal: AbortSignal): Promise<string> {
  const { url, rpcUrl, chainId, waiver } = addresses;
  return JSON.stringify({
    url,
    rpcUrl,
    gatewayUrl: `${url}/rpc/${DEV_PUBLISHABLE_KEY}`,
    chainId,
    apiKey: DEV_API_KEY,
    publishableKey: DEV_PUBLISHABLE_KEY,
    token: TEST_TOKEN_ADDRESS,
    waiver,
    mnemonic: DEVNET_MNEMONIC,
    accounts: accountsJson(await readHoldings(rpcUrl, signal)),
  });
}
