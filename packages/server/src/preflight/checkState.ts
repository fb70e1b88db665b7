import { bytesEqual } from "@gas-waiver/protocol";
import { blockCall } from "../chain/client/calls.js";
import { resultIn } from "../chain/rpc/rpc.js";
import type { ChainIdentity } from "../store/chains.js";
import { UNKNOWN_GENESIS } from "../store/chains.js";
import { type Finding, ok, refuses, warning } from "./finding.js";
import { blockIn, type ProbedBlock, type ProbedNode } from "./probedNode.js";

/** A node's word on itself and on the end of the chain, read at one moment. */
export interface NodeState {
  readonly identity: ChainIdentity;
  readonly isSyncing: boolean;
  readonly head: ProbedBlock | undefined;
  readonly finalized: ProbedBlock | undefined;
  readonly safe: ProbedBlock | undefined;
}

/** A head older than this belongs to a chain that stands still, or to a node that is behind. */
const OLD_HEAD_SECONDS = 60;
/** Blocks are made by other machines, so a head may be a little ahead of this one's clock. */
const EARLY_HEAD_SECONDS = 15;

/** @throws RpcUnavailableError if the node gives no usable answer. */
export async function readState({ client, rpc }: ProbedNode): Promise<NodeState> {
  const identity = await client.identity();
  const [syncing, latest, finalized, safe] = await rpc.read([
    { method: "eth_syncing", params: [] },
    blockCall("latest"),
    blockCall("finalized"),
    blockCall("safe"),
  ]);
  const progress = resultIn(syncing);
  return {
    identity,
    // Some nodes have no such method, which is no sign of syncing.
    isSyncing: progress === true || (typeof progress === "object" && progress !== null),
    head: blockIn(latest),
    finalized: blockIn(finalized),
    safe: blockIn(safe),
  };
}

export function checkChain({ identity }: NodeState, chainId: number | undefined): Finding {
  const found = `chain ${identity.chainId}`;
  if (chainId !== undefined && identity.chainId !== chainId) {
    return refuses("chain", {
      found,
      means: `wrappers for chain ${chainId} would go to another chain`,
      remedy: "remove the node from --rpc-url, or correct --chain-id",
    });
  }
  if (!bytesEqual(identity.genesisHash, UNKNOWN_GENESIS)) return ok("chain", found);
  return warning("chain", {
    found: `${found}; the first block is pruned`,
    means:
      "another chain with this id is noticed only by final blocks that the store knows, once it has some",
    remedy: "use a node that keeps the first block, if there are other chains with this id",
  });
}

/** `now` in ms. */
export function checkSync({ isSyncing, head }: NodeState, now: number): Finding {
  if (!isSyncing) return ok("sync", "not syncing");
  const isFresh = head?.timestamp !== undefined && now / 1_000 - head.timestamp <= OLD_HEAD_SECONDS;
  if (isFresh) {
    return warning("sync", {
      found: "syncing, with a head that is fresh",
      means: "the node still works on its indexes: older transactions may not be found yet",
      remedy: "wait until eth_syncing is false",
      mayPass: true,
    });
  }
  return refuses("sync", {
    found: "syncing",
    means: "its nonces and receipts are those of the past",
    remedy: "wait until eth_syncing is false, or put another node first",
    mayPass: true,
  });
}

/** `now` in ms. */
export function checkHead({ head }: NodeState, now: number): Finding {
  if (head === undefined) {
    return refuses("head", {
      found: "no latest block",
      means: "the service could not follow the chain",
      remedy: "ask eth_getBlockByNumber of the node by hand",
      mayPass: true,
    });
  }
  if (head.timestamp === undefined) return ok("head", `block ${head.number}, without a time`);
  const age = Math.round(now / 1_000 - head.timestamp);
  const found = `block ${head.number}, ${age} s old`;
  if (age <= OLD_HEAD_SECONDS) return ok("head", found);
  return warning("head", {
    found,
    means: "the chain stands still, makes blocks only when there are transactions, or the node is behind",
    remedy: "compare it with another node of the chain",
    mayPass: true,
  });
}

/** @param date the node's HTTP date, in ms. @param now in ms. */
export function checkClock({ head }: NodeState, date: number | undefined, now: number): Finding {
  // The header has whole seconds.
  const byDate = date === undefined ? 0 : Math.round((date - now) / 1_000);
  const byHead = head?.timestamp === undefined ? 0 : Math.round(head.timestamp - now / 1_000);
  const differences = [
    ...(Math.abs(byDate) > 5 ? [`the node's clock differs by ${byDate} s`] : []),
    ...(byHead > EARLY_HEAD_SECONDS ? [`the latest block is ${byHead} s in the future`] : []),
  ];
  if (differences.length === 0) {
    return ok("clock", date === undefined ? "the node sends no Date" : "within 5 s of this machine's");
  }
  return warning("clock", {
    found: differences.join("; "),
    means: "the age of heads is measured wrongly; times of API keys and caps go by the database's clock",
    remedy: "let NTP set both clocks",
  });
}

export function checkFinality({ head, finalized, safe }: NodeState, reorgDepth: number): Finding {
  if (head === undefined || finalized === undefined) {
    return ok("finality", `the node names no finalized block; --reorg-depth is ${reorgDepth}`);
  }
  const behind = (block: ProbedBlock) => (head.number > block.number ? head.number - block.number : 0n);
  const depth = behind(finalized);
  const more = safe === undefined ? "" : `, safe ${behind(safe)}`;
  const found = `finalized is ${depth} block(s) below the head${more}; --reorg-depth is ${reorgDepth}`;
  // A block may have come between the two tags of one request.
  if (depth <= BigInt(reorgDepth) + 1n) return ok("finality", found);
  return warning("finality", {
    found,
    means: "the chain may replace blocks that the service takes for final: a told success could be undone",
    remedy: `set --reorg-depth to the deepest reorg of the chain; ${depth} is safe by the node's own tag`,
  });
}
