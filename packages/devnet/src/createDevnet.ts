import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { Chain } from "./chain/chain.js";
import { createGoingBack, type GoBack } from "./chain/goBack.js";
import { Miner } from "./chain/miner.js";
import { commonOf } from "./evm/common.js";
import { installFaults } from "./faults/installFaults.js";
import { createMethods } from "./methods/createMethods.js";
import { type DevnetOptions, type ResolvedDevnetOptions, resolveOptions } from "./options.js";
import { DEFAULT_HOST, DEFAULT_RPC_PORT } from "./presets/constants.js";
import type { DroppedTransaction, ListeningAt, MinedBlock, RestoredChain } from "./reports.js";
import { call } from "./rpc/dispatch.js";
import type { Methods } from "./rpc/method.js";
import { createRpcServer, type RpcServer } from "./server/rpcServer.js";
import { StateFolder } from "./storage/stateFolder.js";

const VERSION = "0.1.0";

/** A chain in this process. */
export interface Devnet {
  /** The options with the defaults of the profile filled in. */
  readonly options: ResolvedDevnetOptions;
  /**
   * Serves JSON-RPC over HTTP and WebSockets.
   * @param address `127.0.0.1:8545` by default. Port 0 picks a free one.
   * @throws the system's error, such as EADDRINUSE.
   */
  listen(address?: { readonly host?: string; readonly port?: number }): Promise<ListeningAt>;
  /**
   * Calls one JSON-RPC method without HTTP, as in EIP-1193. No faults apply. viem's `custom` transport accepts a
   * devnet.
   * @throws RpcError, or the error of the check that refused.
   * @example
   * ```ts
   * await devnet.request({ method: "eth_blockNumber" }); // "0x0"
   * ```
   */
  request(args: { readonly method: string; readonly params?: unknown }): Promise<unknown>;
  /** Makes the next block now. */
  mine(): Promise<MinedBlock>;
  /** The latest 1,000 transactions that the pool dropped without a block (D8), oldest first. */
  drops(): readonly DroppedTransaction[];
  /** Calls the listener after each new block. @returns the function that unsubscribes. */
  onBlock(listener: (block: MinedBlock) => void): () => void;
  /**
   * Calls `around` with each step that takes the chain back: a revert to a snapshot, a reset, a loaded state, a lowered
   * nonce. It calls the step, and may do something before and after it; the method that was called answers then.
   */
  aroundGoingBack(around: GoBack): void;
  /** The chain that the state folder held at the start; undefined for a chain in memory. */
  readonly restored: RestoredChain | undefined;
  /** Stops serving and mining, and releases the state folder. */
  close(): Promise<void>;
}

/**
 * Starts a chain, in memory or in a folder. It makes blocks at once, and serves after `listen`.
 * @throws InvalidDevnetOptionsError or InvalidFaultsError with the problems, InvalidChangeError for a planned change in a
 *   block that exists, or StateFolderError.
 * @example
 * ```ts
 * const devnet = await createDevnet({ blockTimeMs: 500 });
 * const { url } = await devnet.listen({ port: 0 });
 * // Any Ethereum client can use `url` now.
 * await devnet.close();
 * ```
 */
export async function createDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const resolved = resolveOptions(options);
  const cryptoName = await useNativeCrypto();
  // Transactions of the chain can be decoded from now on.
  commonOf(resolved.chainId);
  const folder =
    resolved.stateDir === undefined ? undefined : new StateFolder(resolved.stateDir, resolved.chainId);
  const chain = openChain(resolved, folder);
  const miner = new Miner(chain, { ...resolved, onError: emitWarning });
  const { goBack, setAround } = createGoingBack();
  // Faults need the names of all methods, and the sockets of the server.
  const { faults, ...faultControl } = installFaults({
    chain,
    miner,
    stateDir: folder?.folder,
    methodNames: () => Object.keys(methods),
    cutSockets: () => server.cutSockets(),
  });
  const methods: Methods = createMethods({
    chain,
    miner,
    goBack,
    // Helpers of hardhat and others work only with a name that begins with that of a node for development.
    clientVersion: `anvil/gas-waiver-devnet/${VERSION}/${cryptoName}`,
    faultMethods: faultControl.methods,
  });
  const allowed = { hosts: resolved.allowedHosts, origins: resolved.allowedOrigins };
  const server: RpcServer = createRpcServer(methods, () => miner.afterRequest(), faults, allowed);
  const close = async () => {
    await server.close();
    await miner.close();
    folder?.close();
  };
  await faultControl.apply(resolved.faults).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    options: resolved,
    listen: ({ host = DEFAULT_HOST, port = DEFAULT_RPC_PORT } = {}) => server.listen({ host, port }),
    async request({ method, params }) {
      const result = await call(methods, method, Array.isArray(params) ? params : []);
      await miner.afterRequest();
      return result;
    },
    mine: () => chain.mine(),
    drops: () => chain.pool.drops,
    onBlock: (listener) => chain.onBlock(listener),
    aroundGoingBack: setAround,
    restored: folder?.restored,
    close,
  };
}

/** Reports a block that failed. Only a full disk or a defect of this program causes that. */
function emitWarning(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}

/** @throws StateFolderError if the folder does not hold a chain. The folder is released then. */
function openChain(options: ResolvedDevnetOptions, folder: StateFolder | undefined): Chain {
  try {
    return new Chain(options, folder);
  } catch (error) {
    folder?.close();
    throw folder?.explain(error) ?? error;
  }
}
