import { DEV_API_KEY, DEV_PUBLISHABLE_KEY, type Devnet, type DevnetAccount } from "@gas-waiver/devnet";
import { hexToBytes } from "@gas-waiver/protocol";
import { privateKeyWaiver, type Server, type ServerOptions } from "@gas-waiver/server";

/**
 * A client that remembers nonces of before a revert of the chain learns of it by a NONCE_GAP, so it should not wait for that as
 * long as behind a real chain.
 */
export const DEV_NONCE_GAP_MS = 1_000;

/** A devnet as its service finds it. */
export interface DevChain {
  /** The URL of its JSON-RPC, over HTTP. */
  readonly url: string;
  readonly chainId: number;
}

/** The options that make a service the one of a devnet of this machine. */
export function devServiceOptions({ url: rpcUrl, chainId }: DevChain, waiver: DevnetAccount) {
  const allow = `npx gas-waiver governance allow --dev --rpc-url ${rpcUrl} --waiver ${waiver.address} --target`;
  return {
    chainId,
    rpcUrl,
    rpcWsUrl: rpcUrl.replace(/^http/, "ws"),
    waivers: [privateKeyWaiver(hexToBytes(waiver.privateKey))],
    apiKeys: [],
    publicApiKeys: [DEV_API_KEY, DEV_PUBLISHABLE_KEY],
    policySource: "registry",
    policyRemedy: (target) => `to allow it: ${allow} ${target}`,
    // The API key is public, so pages may use it, but only pages from this machine.
    corsOrigins: ["loopback"],
    // A stranger's page can let its own host name resolve to this machine (DNS rebinding).
    allowedHosts: ["loopback"],
    newChain: "adopt",
    nonceGapTimeoutMs: DEV_NONCE_GAP_MS,
  } satisfies Partial<ServerOptions>;
}

/**
 * Takes the service back with its devnet. Meanwhile the service rests and its wrappers leave the pool, so that no dropped
 * transaction comes again.
 */
export function followDevnet(server: Server, devnet: Devnet, { address }: DevnetAccount): void {
  devnet.aroundGoingBack((goBack) =>
    server.rewind(async () => {
      const wentBack = await goBack();
      await devnet.request({ method: "anvil_removePoolTransactions", params: [address] });
      return wentBack;
    }),
  );
}
