import { isObject } from "../../../packages/server/src/chain/rpc/rpcOutcome.js";
import { ancestorAt, type Block, extend } from "../chain/block.js";
import { CallFailure, type NodeView, quantity } from "../chain/reads.js";
import type { SimulatedNode } from "../nodes/node.js";
import type { CallDeed } from "./behaviour.js";

/** The answer to a call, without its id. */
export type Reply = { readonly result: unknown } | { readonly error: unknown };

/** Makes the call on the honest node. */
export function ask(node: SimulatedNode, method: string, params: readonly unknown[], view: NodeView): Reply {
  try {
    return { result: node.call(method, params, view) };
  } catch (error) {
    if (error instanceof CallFailure) return { error: error.error };
    throw error;
  }
}

/** The view through which a node answers while these deeds last. */
export function viewOf(node: SimulatedNode, deeds: readonly CallDeed[]): NodeView {
  let { head } = node;
  let pruned: { statesFrom?: number; blocksFrom?: number } = {};
  for (const does of deeds) {
    if (does.deed === "behind") head = ancestorAt(head, Math.max(0, head.number - does.blocks)) ?? head;
    else if (does.deed === "another fork") head = forkOf(head, does.blocks);
    else if (does.deed === "pruned") {
      const from = Math.max(0, node.head.number - does.blocks);
      pruned = { ...pruned, ...(does.what === "states" ? { statesFrom: from } : { blocksFrom: from }) };
    }
  }
  return node.view(head, pruned);
}

/** A chain of the same height, whose newest blocks are others, without any transaction. */
function forkOf(head: Block, depth: number): Block {
  let fork = ancestorAt(head, Math.max(0, head.number - depth)) ?? head;
  while (fork.number < head.number) {
    const { timestamp } = ancestorAt(head, fork.number + 1) ?? head;
    fork = extend(fork, { others: [], wrappers: [], timestamp, salt: "another fork" });
  }
  return fork;
}

/** Changes a node's answer as a deed wants it. */
export function change(reply: Reply, does: CallDeed): Reply {
  switch (does.deed) {
    case "result":
      return { result: does.value };
    case "error":
      return { error: does.error };
    case "member":
      return "result" in reply ? { result: withMember(reply.result, does) } : reply;
    case "block times":
      return "result" in reply ? { result: moved(reply.result, does.seconds) } : reply;
    default:
      return reply;
  }
}

function withMember(result: unknown, { name, value }: Extract<CallDeed, { deed: "member" }>): unknown {
  if (!isObject(result) || !(name in result)) return result;
  const { [name]: _, ...others } = result;
  return value === undefined ? others : { ...others, [name]: value };
}

function moved(result: unknown, seconds: number): unknown {
  if (!isObject(result) || typeof result.timestamp !== "string") return result;
  return { ...result, timestamp: quantity(Math.max(0, Number(result.timestamp) + seconds)) };
}
