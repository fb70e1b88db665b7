import { accountsOf, createDevnet } from "@gas-waiver/devnet";
import { createServer } from "@gas-waiver/server";
import type { JsonRpcProvider } from "ethers";
import { afterAll, beforeAll } from "vitest";
import { CloseStack } from "../../packages/cli/src/closeStack.js";
import { devServiceOptions, followDevnet } from "../../packages/cli/src/startup/devService.js";
import { useTestPostgres } from "../../packages/server/test/support/testStore.js";
import { connect } from "./user.js";

/** The service and the chain of `gas-waiver dev`. */
export interface DevService {
  /** The service's URL. */
  readonly url: string;
  readonly rpcUrl: string;
  readonly databaseUrl: string;
  readonly adminUrl: string;
  /** A connection to the chain, with ethers. */
  readonly chain: JsonRpcProvider;
}

/** Token of the service's admin API. */
export const ADMIN_TOKEN = "an-operators-token-of-32-characters-and-more";

/**
 * Starts the service and the chain of `gas-waiver dev` in this process before the file's tests, and ends them after
 * them. The returned function gives the service once it runs.
 */
export function useDevService(): () => DevService {
  const databases = useTestPostgres();
  const closeStack = new CloseStack();
  let service: DevService | undefined;
  beforeAll(async () => {
    const [waiver] = accountsOf("waiver");
    if (waiver === undefined) throw new Error("the devnet has no waiver");
    const databaseUrl = await databases.createDatabase();
    const devnet = closeStack.add(await createDevnet({ blockTimeMs: 100 }));
    const { url: rpcUrl } = await devnet.listen({ port: 0 });
    const options = {
      ...devServiceOptions({ url: rpcUrl, chainId: 2201 }, waiver),
      ...{ databaseUrl, logLevel: "silent" as const },
      adminTokens: [{ name: "alice", token: ADMIN_TOKEN, role: "viewer" as const }],
    };
    const server = closeStack.add(await createServer(options));
    followDevnet(server, devnet, waiver);
    const anyPort = { host: "127.0.0.1", port: 0 };
    const { url } = await server.listen(anyPort);
    const { url: adminUrl } = await server.listenAdmin(anyPort);
    service = { url, rpcUrl, databaseUrl, adminUrl, chain: connect(rpcUrl) };
  });
  afterAll(async () => {
    service?.chain.destroy();
    await closeStack.close();
  });
  return () => {
    if (service === undefined) throw new Error("the service has not been started");
    return service;
  };
}
