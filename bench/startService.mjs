import { TEST_TOKEN } from "../packages/devnet/dist/presets/index.js";
import { hexToBytes } from "../packages/protocol/dist/index.js";
import { createServer, privateKeyWaiver } from "../packages/server/dist/index.js";
import { API_KEY, CHAIN_ID, waiverKey } from "./service/shape.mjs";

/** Limits protect the service from the very load that a benchmark offers. */
export const UNLIMITED = 1_000_000;

/**
 * Starts a service on its embedded PostgreSQL, with that database's own settings (fsync on), for the load of a benchmark.
 * @param {{ rpcUrl: string, dataDir: string }} options and every other option of `createServer`.
 */
export async function startService(options) {
  const server = await createServer({
    chainId: CHAIN_ID,
    waivers: [privateKeyWaiver(waiverKey())],
    apiKeys: [API_KEY],
    allowedTargets: [{ address: TEST_TOKEN, selectors: [hexToBytes("0x095ea7b3")] }],
    ratePerSecond: UNLIMITED,
    rateBurst: UNLIMITED,
    logLevel: "warn",
    ...options,
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  return { server, url };
}
