import type { SealedBlock } from "../block/block.js";
import type { Chain } from "../chain/chain.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import { hash, quantity, shortJson } from "../rpc/params.js";
import type { StateReader } from "../state/reader.js";

const HEAD_TAGS = new Set(["latest", "safe", "finalized", "pending"]);

/**
 * Finds the block for a tag, a number, or an EIP-1898 object; undefined if there is none.
 * "safe" and "finalized" mean the latest block, because the chain never reorganizes by itself. "pending" does too,
 * because waiting transactions have no block.
 */
export function findBlock(chain: Chain, tag: unknown): SealedBlock | undefined {
  if (tag === undefined || tag === null) return chain.head;
  if (typeof tag === "object") return findByObject(chain, tag);
  if (typeof tag !== "string")
    throw invalidParams(`block is ${shortJson(tag)}, not a tag or a number in 0x hex`);
  if (HEAD_TAGS.has(tag)) return chain.head;
  if (tag === "earliest") return chain.ledger.byNumber(0);
  return chain.ledger.byNumber(Number(quantity(tag, "block", 2n ** 53n)));
}

function findByObject(chain: Chain, tag: object): SealedBlock | undefined {
  if ("blockHash" in tag) return chain.ledger.byHash(hash(tag.blockHash, "blockHash"));
  if ("blockNumber" in tag) return findBlock(chain, tag.blockNumber);
  throw invalidParams("a block object needs blockHash or blockNumber (EIP-1898)");
}

/** Like {@link findBlock}, but throws if there is no such block. */
export function requireBlock(chain: Chain, tag: unknown): SealedBlock {
  const block = findBlock(chain, tag);
  if (block !== undefined) return block;
  throw new RpcError(
    RPC_CODES.refused,
    `header not found: there is no block ${shortJson(tag)}, the latest is ${chain.head.number}`,
  );
}

/** Finds a block and the state after it. The error for a state that is gone names the states that are kept. */
export function requireState(chain: Chain, tag: unknown): { block: SealedBlock; state: StateReader } {
  const block = requireBlock(chain, tag);
  const state = chain.stateAt(block.number);
  if (state !== undefined) return { block, state };
  throw new RpcError(
    RPC_CODES.refused,
    `missing state: block ${block.number} is too old, states are kept from block ${chain.oldestState} to ${chain.head.number}`,
    { oldest: chain.oldestState, latest: chain.head.number },
  );
}
