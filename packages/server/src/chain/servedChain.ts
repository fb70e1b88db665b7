import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import { StartError } from "../model/errors.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import {
  adoptChain,
  type ChainIdentity,
  isSameChain,
  type KnownChain,
  lastChain,
  saveGenesis,
  UNKNOWN_GENESIS,
} from "../store/chains.js";
import type { Store } from "../store/store.js";
import { sleepUnless } from "../util/wakeableTimer.js";
import { NodeClient } from "./client/nodeClient.js";
import { type ChainDifference, findChainDifference } from "./compareChain.js";
import { rewindToChain } from "./rewind.js";
import { createRpc, RpcUnavailableError } from "./rpc/rpc.js";

/** The chain that the service serves. */
export interface ServedChain {
  /** The chain's number in the store. */
  readonly chainRef: number;
  /** Its first block is not known before a node has answered, if the store was new then. */
  identity: ChainIdentity;
  /** False if no node answered. Then the chain is the one that the store served last, or the one of the options. */
  readonly confirmed: boolean;
}

interface Dependencies {
  readonly chain: NodeClient;
  readonly store: Store;
  readonly options: ResolvedOptions;
}

/**
 * Finds the chain to serve. Another genesis than the store's means a wrong node, or a devnet that began anew. Without an
 * answer of a node, the service accepts work meanwhile.
 * @param isAlone false for a network among several: with a new store, it is left out until a node answers.
 * @throws {@link StartError} if the node is on another chain, or does not answer and the store is new.
 */
export async function findServedChain(dependencies: Dependencies, isAlone: boolean): Promise<ServedChain> {
  const { chain, store, options } = dependencies;
  const last = await lastChain(store);
  let identity: ChainIdentity;
  let difference: ChainDifference | undefined;
  try {
    difference = last && (await findChainDifference(chain, last, store));
    identity = difference?.identity ?? last?.identity ?? (await chain.identity());
  } catch (error) {
    const message = `the chain's node at ${originOf(options.rpcUrls)} cannot be used: ${(error as Error).message}`;
    if ((last === undefined && !isAlone) || !(error instanceof RpcUnavailableError))
      throw new StartError(message, { cause: error });
    if (last === undefined) {
      identity = { chainId: options.chainId, genesisHash: UNKNOWN_GENESIS };
      return { chainRef: await adoptChain(store, identity), identity, confirmed: false };
    }
    assertChainId(last.identity, options, "the store");
    return { ...last, confirmed: false };
  }
  assertChainId(identity, options, `the node at ${originOf(options.rpcUrls)}`);
  if (last === undefined) return { chainRef: await adoptChain(store, identity), identity, confirmed: true };
  if (difference === undefined) {
    if (options.newChain === "adopt") await rewindToChain({ ...dependencies, ...last, onlyIfLost: true });
    return { ...last, identity: await completed(last, dependencies), confirmed: true };
  }
  if (options.newChain === "refuse" || difference.block !== undefined)
    throw new StartError(otherChainMessage(last.identity, difference));
  return { chainRef: await adoptChain(store, identity), identity, confirmed: true };
}

const RETRY_MS = 1_000;

/** The identity with the first block, which the store may have got without an answer of a node. */
async function completed(
  { chainRef, identity }: KnownChain,
  { chain, store }: Pick<Dependencies, "chain" | "store">,
): Promise<ChainIdentity> {
  if (!bytesEqual(identity.genesisHash, UNKNOWN_GENESIS)) return identity;
  const found = await chain.identity();
  await saveGenesis(store, chainRef, found.genesisHash);
  return found;
}

/** Asks until a node answers. Resolves to true if it is on the store's chain, to false if not, or if `signal` aborts. */
export async function confirmServedChain(
  { chain, store, served }: Dependencies & { readonly served: ServedChain },
  log: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  let trouble: string | undefined;
  while (!signal.aborted) {
    try {
      const last = await lastChain(store);
      const difference = last && (await findChainDifference(chain, last, store));
      if (last && difference === undefined) {
        served.identity = await completed(last, { chain, store });
        return true;
      }
      const err = last && difference && otherChainMessage(last.identity, difference);
      log.fatal({ err }, "no lane starts: the node is on another chain");
      return false;
    } catch (error) {
      const { message } = error as Error;
      // A node that stays away would have the same line every second.
      if (message !== trouble) log.warn({ err: message }, "the chain cannot be confirmed yet");
      trouble = message;
    }
    await sleepUnless(RETRY_MS, signal);
  }
  return false;
}

function otherChainMessage(known: ChainIdentity, { identity: found, block }: ChainDifference): string {
  if (block !== undefined)
    return `the node's chain has another block ${block} than the one that the store knows as final, so it is not the one that the store belongs to`;
  const shown = ({ chainId, genesisHash }: ChainIdentity) =>
    `id ${chainId}, genesis ${bytesToHex(genesisHash)}`;
  return `the node's chain (${shown(found)}) is not the one that the store belongs to (${shown(known)})`;
}

function assertChainId({ chainId }: ChainIdentity, options: ResolvedOptions, who: string): void {
  if (chainId === options.chainId) return;
  throw new StartError(`${who} is on chain ${chainId}, the service is for chain ${options.chainId}`);
}

/** Shows only the origins: a node's URL may hold a secret in its path or query. */
function originOf(urls: readonly string[]): string {
  return urls.map((url) => new URL(url).origin).join(", ");
}

const RPC_TIMEOUT_MS = 5_000;

/**
 * Connects a command to a node of the chain that a store belongs to.
 * @throws {@link StartError} if the node cannot be used, or is on another chain.
 */
export async function connectNode(rpcUrls: readonly string[], expected: ChainIdentity): Promise<NodeClient> {
  const { signal } = new AbortController();
  const chain = new NodeClient(
    createRpc({ rpcUrls, rpcTimeoutMs: RPC_TIMEOUT_MS, signal }),
    expected.chainId,
  );
  const identity = await chain.identity().catch((error: Error) => {
    throw new StartError(`the chain's node cannot be used: ${error.message}`);
  });
  if (!isSameChain(identity, expected)) {
    throw new StartError("the node is on another chain than the one that the store belongs to");
  }
  return chain;
}
