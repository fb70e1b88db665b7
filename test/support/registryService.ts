// A chain with its registry, and a service that follows it, both in this process on a real PostgreSQL.
import { createWaiverClient, type KeyPolicy, type WaiverClient } from "@gas-waiver/client";
import { createDevnet, type Devnet, WaiverRegistry } from "@gas-waiver/devnet";
import { hexToBytes } from "@gas-waiver/protocol";
import { createServer, privateKeyWaiver, type ServerOptions } from "@gas-waiver/server";
import { Interface } from "ethers";
import { afterAll, beforeAll } from "vitest";
import { CHAIN_PROFILE, OPTIONS_OF_CHAIN } from "../../packages/server/test/support/chainProfile.js";
import { useTestPostgres } from "../../packages/server/test/support/testStore.js";
import { API_KEY, account, CHAIN_ID } from "./user.js";

export const REGISTRY = "0x000000000000000000000000000000000000f334";
const registry = new Interface(WaiverRegistry.abi as unknown as string[]);

/** One entry of a policy. */
export interface Target {
  readonly address: string;
  readonly selectors?: readonly string[];
}

export class RegistryService {
  readonly devnet: Devnet;
  readonly rpcUrl: string;
  readonly url: string;
  readonly client: WaiverClient;

  constructor(devnet: Devnet, { rpcUrl, url }: { readonly rpcUrl: string; readonly url: string }) {
    this.devnet = devnet;
    this.rpcUrl = rpcUrl;
    this.url = url;
    this.client = createWaiverClient({ url, apiKey: API_KEY });
  }

  rpc<T>(method: string, ...params: unknown[]): Promise<T> {
    return this.devnet.request({ method, params }) as Promise<T>;
  }

  /** Makes a proposal and carries it with three of four votes. The last vote is in the latest block. */
  async decide(method: string, ...args: unknown[]): Promise<void> {
    const [proposer = "", ...others] = [20, 21, 22].map((i) => account(i).address);
    await this.#send(proposer, registry.encodeFunctionData(method, args));
    const id = await this.rpc<string>("eth_call", {
      to: REGISTRY,
      data: registry.encodeFunctionData("proposalCount"),
    });
    for (const voter of [proposer, ...others]) {
      await this.#send(voter, registry.encodeFunctionData("vote", [BigInt(id), true]));
    }
  }

  register(waiver: string, targets: readonly Target[]): Promise<void> {
    return this.decide("proposeRegister", waiver, targets.map(toContractTarget));
  }

  update(waiver: string, targets: readonly Target[]): Promise<void> {
    return this.decide("proposeUpdate", waiver, targets.map(toContractTarget));
  }

  revoke(waiver: string): Promise<void> {
    return this.decide("proposeRevoke", waiver);
  }

  /** Resolves with the service's policy once the condition holds. The service follows the chain with a delay. */
  async until(holds: (policy: KeyPolicy) => boolean): Promise<KeyPolicy> {
    for (;;) {
      const policy = await this.client.policy();
      if (holds(policy)) return policy;
    }
  }

  async #send(from: string, data: string): Promise<void> {
    const hash = await this.rpc<string>("eth_sendTransaction", { from, to: REGISTRY, data, gas: "0x200000" });
    const receipt = await this.rpc<{ status: string } | null>("eth_getTransactionReceipt", hash);
    if (receipt?.status !== "0x1") throw new Error(`${hash} has failed`);
  }
}

function toContractTarget({ address, selectors }: Target) {
  const anyTarget = address === "*";
  return {
    target: anyTarget ? `0x${"00".repeat(20)}` : address,
    anyTarget,
    anySelector: selectors === undefined,
    selectors: selectors ?? [],
  };
}

/** Starts chain and service before the file's tests and ends both after them. The returned function gives the service. */
export function registryService(waivers: readonly number[], overrides: Partial<ServerOptions> = {}) {
  let service: RegistryService | undefined;
  const cleanups: (() => Promise<unknown>)[] = [];
  const postgres = useTestPostgres();
  beforeAll(async () => {
    const devnet = await createDevnet({ blockTimeMs: 0, profile: CHAIN_PROFILE });
    cleanups.push(() => devnet.close());
    const { url: rpcUrl } = await devnet.listen({ port: 0 });
    const server = await createServer({
      chainId: CHAIN_ID,
      rpcUrl,
      waivers: waivers.map((i) => privateKeyWaiver(hexToBytes(account(i).privateKey))),
      apiKeys: [API_KEY],
      databaseUrl: await postgres.createDatabase(),
      pollIntervalMs: 20,
      // Longer than a busy machine needs.
      ...{ leaseMs: 10_000, requestTimeoutMs: 300_000 },
      logLevel: "silent",
      ...OPTIONS_OF_CHAIN,
      ...overrides,
    });
    cleanups.push(() => server.close());
    const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
    service = new RegistryService(devnet, { rpcUrl, url });
  });
  afterAll(async () => {
    for (const end of cleanups.reverse()) await end();
  });
  return () => {
    if (service === undefined) throw new Error("the service has not been started");
    return service;
  };
}
