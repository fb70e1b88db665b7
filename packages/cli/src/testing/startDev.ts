import { createWaiverClient, type WaiverClient } from "@gas-waiver/client";
import {
  accountsOf,
  createDevnet,
  DEV_API_KEY,
  DEV_PUBLISHABLE_KEY,
  DEVNET_CHAIN_ID,
  type Devnet,
  type DevnetAccount,
  type Profile,
  TEST_TOKEN_ADDRESS,
} from "@gas-waiver/devnet";
import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import {
  createServer,
  type ScratchPostgres,
  type Server,
  type ServerOptions,
  startScratchPostgres,
} from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import { proposeAddition, readSelector } from "../governance/allow.js";
import { Registry } from "../governance/registry.js";
import { JsonRpcClient } from "../jsonRpcClient.js";
import { address } from "../settings/parsers.js";
import { devServiceOptions, followDevnet } from "../startup/devService.js";
import { createGaslessSender, type GaslessSender, type GaslessWallet } from "./gaslessSender.js";

/** The options of `startDev`. */
export interface StartDevOptions {
  /** The chain that the devnet is like: `plain`, the default, or `stable` for the public one. */
  readonly profile?: Profile;
  /** The chain id; 2201 by default. */
  readonly chainId?: number;
  /** Milliseconds from block to block; 0, the default, makes a block whenever a transaction is ready. */
  readonly blockTimeMs?: number;
  /** Limits and time-outs of the service, so that each error can be rehearsed. */
  readonly service?: DevServiceLimits;
  /** The folder of this machine that keeps empty databases between runs; by default below that for temporary files. */
  readonly cacheDir?: string;
}

/** The options of the service that a test may set: all but those that make it the service of this devnet. */
export type DevServiceLimits = Partial<
  Omit<
    ServerOptions,
    "chainId" | "rpcUrl" | "rpcWsUrl" | "waivers" | "databaseUrl" | "dataDir" | "newChain" | "policySource"
  >
>;

/** A devnet with its service, for tests. */
export interface Dev {
  /** The service's URL. */
  readonly url: string;
  /** The chain's JSON-RPC, over HTTP and WebSocket. */
  readonly rpcUrl: string;
  /** The RPC URL for wallets that sign with a price of 0. */
  readonly gatewayUrl: string;
  readonly chainId: number;
  readonly apiKey: string;
  readonly publishableKey: string;
  /** The test token, of which each user has some. */
  readonly token: Hex;
  /** Accounts with tokens and without native coin. */
  readonly users: readonly DevnetAccount[];
  /** Pays for ordinary transactions, such as the deployment of a contract. */
  readonly funded: DevnetAccount;
  /** The chain, which also answers JSON-RPC without HTTP, as in EIP-1193. */
  readonly devnet: Devnet;
  readonly server: Server;
  /** A client of the service. */
  readonly client: WaiverClient;
  /**
   * Lets the service carry calls to a contract, beside what it carries already: proposes that, and votes for it.
   * @param selectors selectors or signatures, such as `mint(address,uint256)`; any calldata by default.
   */
  allow(contract: string, selectors?: readonly string[]): Promise<void>;
  /** Takes a snapshot of the chain. @returns its name for `revert`. */
  snapshot(): Promise<string>;
  /**
   * Takes chain and service back to a snapshot, which is used up.
   * @throws an error if there is no such snapshot.
   */
  revert(snapshot: string): Promise<void>;
  /**
   * Sends gasless transactions of a wallet.
   * @param wallet an account of the devnet, a private key, a wallet of ethers, or an account of viem that signs.
   */
  gasless(wallet: GaslessWallet): GaslessSender;
  /** Ends both. */
  stop(): Promise<void>;
}

/** See `startDev` of the package. */
export async function startDev(options: StartDevOptions = {}): Promise<Dev> {
  const closeStack = new CloseStack();
  try {
    return await start(options, closeStack);
  } catch (error) {
    await closeStack.close();
    throw error;
  }
}

async function start(options: StartDevOptions, closeStack: CloseStack): Promise<Dev> {
  const {
    blockTimeMs = 0,
    service = {},
    cacheDir,
    profile = "plain",
    chainId = Number(DEVNET_CHAIN_ID),
  } = options;
  const [waiver] = accountsOf("waiver");
  const [funded] = accountsOf("funded");
  const [database, devnet] = await Promise.all([
    takeDatabase(cacheDir),
    createDevnet({ blockTimeMs, profile, chainId: BigInt(chainId) }),
  ]);
  closeStack.add(database);
  closeStack.add(devnet);
  const { url: rpcUrl } = await devnet.listen({ port: 0 });
  const server = closeStack.add(
    await createServer({
      ...devServiceOptions({ url: rpcUrl, chainId }, waiver),
      logLevel: "silent",
      ...service,
      databaseUrl: database.url,
    }),
  );
  followDevnet(server, devnet, waiver);
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const client = createWaiverClient({ url, apiKey: DEV_API_KEY });
  const request = (method: string, ...params: unknown[]) => devnet.request({ method, params });
  const ending = new AbortController();
  const validators = accountsOf("validator").map(({ privateKey }) => hexToBytes(privateKey));
  return {
    ...{ url, rpcUrl, gatewayUrl: `${url}/rpc/${DEV_PUBLISHABLE_KEY}`, chainId },
    ...{ apiKey: DEV_API_KEY, publishableKey: DEV_PUBLISHABLE_KEY, token: TEST_TOKEN_ADDRESS },
    ...{ users: accountsOf("user"), funded, devnet, server, client },
    async allow(contract, selectors) {
      const added = {
        address: address(contract),
        ...(selectors && { selectors: selectors.map(readSelector) }),
      };
      const of = { waiver: hexToBytes(waiver.address), added, validators, votes: true };
      await proposeAddition(new Registry(new JsonRpcClient(rpcUrl, ending.signal)), of);
      await server.rereadPolicies();
    },
    snapshot: async () => String(await request("evm_snapshot")),
    async revert(snapshot) {
      if ((await request("evm_revert", snapshot)) !== true)
        throw new Error(`there is no snapshot ${snapshot}`);
    },
    gasless: (wallet) => createGaslessSender(wallet, { chainId, client, request }),
    async stop() {
      ending.abort();
      await closeStack.close();
    },
  };
}

/** A database of one service, in the PostgreSQL that all of this process share. */
interface TakenDatabase {
  readonly url: string;
  /** Drops the database. The last one stops PostgreSQL. */
  close(): Promise<void>;
}

interface Shared {
  readonly postgres: Promise<ScratchPostgres>;
  users: number;
}

/** The PostgreSQL servers of this process, by the folder of their clusters. */
const running = new Map<string, Shared>();

/** Makes an empty database. The first one starts PostgreSQL. */
async function takeDatabase(cacheDir?: string): Promise<TakenDatabase> {
  const name = cacheDir ?? "";
  const shared = running.get(name) ?? { postgres: startScratchPostgres(cacheDir), users: 0 };
  running.set(name, shared);
  shared.users++;
  const leave = async () => {
    if (--shared.users > 0) return;
    running.delete(name);
    await shared.postgres.then(
      (postgres) => postgres.stop(),
      () => {},
    );
  };
  try {
    const { url, drop } = await (await shared.postgres).createDatabase();
    return {
      url,
      async close() {
        await drop();
        await leave();
      },
    };
  } catch (error) {
    await leave();
    throw error;
  }
}
