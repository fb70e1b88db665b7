import { StartError } from "../model/errors.js";
import { type ChainIdentity, isSameChain } from "../store/chains.js";
import { NodeClient } from "./client/nodeClient.js";
import { createRpc } from "./rpc/rpc.js";

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
