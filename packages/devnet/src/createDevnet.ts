import { useNativeCrypto } from "@gas-waiver/crypto-native";
import type { SealedBlock } from "./block/block.js";
import { Chain } from "./chain/chain.js";
import { startMiner } from "./chain/miner.js";
import { ethereumJsExecutor } from "./evm/executor.js";
import { installFaults } from "./faults/installFaults.js";
import { createMethods } from "./methods/createMethods.js";
import { type DevnetOptions, type ResolvedDevnetOptions, resolveOptions } from "./options.js";
import type { Dropped } from "./pool/pool.js";
import { DEFAULT_HOST, DEFAULT_RPC_PORT } from "./presets/constants.js";
import { call } from "./rpc/dispatch.js";
import type { Methods } from "./rpc/method.js";
import { createRpcServer, type ListeningAt, type RpcServer } from "./server/rpcServer.js";
import { type Restored, StateFolder } from "./storage/stateFolder.js";

const VERSION = "0.1.0";

export interface Devnet {
  /**
   * Serves JSON-RPC over HTTP.
   * @param at `127.0.0.1:8545` by default; port 0 picks a free one.
   * @throws the system's error, such as EADDRINUSE.
   */
  listen(at?: { readonly host?: string; readonly port?: number }): Promise<ListeningAt>;
  /**
   * One JSON-RPC method without HTTP, as in EIP-1193: viem's `custom` transport takes the devnet as it is.
   * @throws RpcError, or the error of the check that refused.
   */
  request(args: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
  /** Makes the next block now. */
  mine(): Promise<SealedBlock>;
  /** What was dropped lately when its block was built (D8), oldest first. */
  drops(): readonly Dropped[];
  /** Tells of each new block. @returns how to stop. */
  onBlock(listener: (block: SealedBlock) => void): () => void;
  /** What the state folder held at the start; undefined for a chain in memory. */
  readonly restored: Restored | undefined;
  /** Stops serving and mining. Afterwards nothing is left running. */
  close(): Promise<void>;
}

/**
 * Starts a chain, in memory or in a folder; it makes blocks at once, and serves after `listen`.
 * @throws InvalidDevnetOptionsError or InvalidFaultsError with every problem listed, or StateFolderError.
 */
export async function createDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const resolved = resolveOptions(options);
  const cryptoName = await useNativeCrypto();
  const folder = resolved.stateDir === undefined ? undefined : new StateFolder(resolved.stateDir);
  const chain = openChain(resolved, folder);
  const miner = startMiner(chain, {
    ...resolved,
    // A block that fails is a defect of this program. It must be seen, and nobody here can handle it.
    onError: (error) => {
      process.emitWarning(error instanceof Error ? error : String(error));
    },
  });
  const clientVersion = `gas-waiver-devnet/${VERSION}/${cryptoName}`;
  const installed = installFaults({
    chain,
    miner,
    stateDir: folder?.folder,
    methodNames: () => Object.keys(methods),
    cutSockets: () => server.cutSockets(),
  });
  const methods: Methods = createMethods({ chain, miner, clientVersion, faultMethods: installed.methods });
  const server: RpcServer = createRpcServer(methods, () => miner.afterRequest(), installed.faults);
  await installed.apply(resolved.faults).catch(async (error: unknown) => {
    await miner.close();
    folder?.close();
    throw error;
  });
  return {
    listen: ({ host = DEFAULT_HOST, port = DEFAULT_RPC_PORT } = {}) => server.listen({ host, port }),
    async request({ method, params }) {
      const result = await call(methods, method, Array.isArray(params) ? params : []);
      await miner.afterRequest();
      return result;
    },
    mine: () => chain.mine(),
    drops: () => chain.pool.drops,
    onBlock: (listener) => chain.onBlock(listener),
    restored: folder?.restored,
    async close() {
      await server.close();
      await miner.close();
      folder?.close();
    },
  };
}

/** @throws StateFolderError when what the folder holds is no chain; it is free for others then. */
function openChain(options: ResolvedDevnetOptions, folder: StateFolder | undefined): Chain {
  try {
    return new Chain(options, ethereumJsExecutor, folder);
  } catch (error) {
    folder?.close();
    throw folder?.explain(error) ?? error;
  }
}
