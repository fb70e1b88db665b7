import { bytesEqual } from "@gas-waiver/protocol";
import { blockCall } from "../chain/client/calls.js";
import { isSameChain, UNKNOWN_GENESIS } from "../store/chains.js";
import type { NodeState } from "./checkState.js";
import { type Finding, type NodeFinding, ok, refuses, warning } from "./finding.js";
import { blockIn, type ProbedNode } from "./probedNode.js";

/** A node with its own report of its state. */
export interface ReadNode {
  readonly node: ProbedNode;
  readonly state: NodeState;
}

/** Nodes may differ in blocks near the head for a moment, also on chains that are believed to be final at once. */
const MIN_DEPTH = 8;

/** Compares the nodes with the first of them. */
export async function compareNodes(
  nodes: readonly ReadNode[],
  { reorgDepth, maxLagSeconds }: { readonly reorgDepth: number; readonly maxLagSeconds: number },
): Promise<NodeFinding[]> {
  const [first, ...others] = nodes;
  if (first === undefined) return [];
  const findings: NodeFinding[] = [];
  for (const other of others) {
    findings.push({ ...(await compareChains(first, other, reorgDepth)), node: other.node.name });
  }
  const newest = Math.max(...nodes.map(({ state }) => state.head?.timestamp ?? 0));
  const top = nodes.map(({ state }) => state.head?.number ?? 0n).reduce((a, b) => (a > b ? a : b));
  for (const { node, state } of others.length > 0 ? nodes : []) {
    if (state.head === undefined) continue;
    const seconds = newest - (state.head.timestamp ?? newest);
    const lag = lagFinding({ blocks: top - state.head.number, seconds }, maxLagSeconds);
    findings.push({ ...lag, node: node.name });
  }
  return findings;
}

async function compareChains(first: ReadNode, other: ReadNode, reorgDepth: number): Promise<Finding> {
  const isOther = !isSameChain(first.state.identity, other.state.identity);
  const [a, b] = [first.state.head?.number, other.state.head?.number];
  if (isOther || a === undefined || b === undefined) {
    return isOther ? anotherChain("its chain is another", first) : sameBeginning(first, other);
  }
  const height = (a < b ? a : b) - BigInt(Math.max(reorgDepth, MIN_DEPTH));
  if (height < 0n) return sameBeginning(first, other);
  const [left, right] = await Promise.all(
    [first, other].map(async ({ node }) => {
      const [outcome] = await node.rpc.read([blockCall(height)]);
      return blockIn(outcome)?.hash;
    }),
  );
  if (left === undefined || right === undefined) return sameBeginning(first, other);
  if (bytesEqual(left, right)) return ok("one chain", `same block ${height}`);
  return anotherChain(`its block ${height} is another`, first);
}

/** Names what showed the same chain, where no later block can be compared. */
function sameBeginning(...nodes: readonly ReadNode[]): Finding {
  const isPruned = nodes.some(({ state }) => bytesEqual(state.identity.genesisHash, UNKNOWN_GENESIS));
  return ok("one chain", isPruned ? "same chain id" : "same first block");
}

function anotherChain(found: string, first: ReadNode): Finding {
  return refuses("one chain", {
    found: `${found} than that of node ${first.node.name}`,
    means: "the nodes are on different chains or forks: what one shows as executed, the other does not have",
    remedy: "remove the node that is on the wrong one from --rpc-url",
  });
}

function lagFinding(
  { blocks, seconds }: { readonly blocks: bigint; readonly seconds: number },
  maxLagSeconds: number,
): Finding {
  const found = `${blocks} block(s) and ${seconds} s behind the newest head`;
  if (seconds <= maxLagSeconds) return ok("lag", found);
  return warning("lag", {
    found,
    means: `nonces, receipts and heads are not read from a node that is more than ${maxLagSeconds} s behind`,
    remedy: "let it catch up, or remove it from --rpc-url",
    mayPass: true,
  });
}
