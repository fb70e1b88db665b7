import { readAnswers } from "../chain/rpc/batchAnswer.js";
import { MAX_REQUEST_BYTES } from "../chain/rpc/endpointLimits.js";
import { MAX_BATCH_CALLS } from "../chain/rpc/rpc.js";
import { type Finding, notProven, ok, warning } from "./finding.js";
import type { ProbedNode } from "./probedNode.js";

/** Batches that are tried, the largest first. */
const CALLS = [MAX_BATCH_CALLS, 50, 25, 10, 2] as const;
const BYTES = [MAX_REQUEST_BYTES, 262_144, 131_072, 65_536, 16_384] as const;

export interface BatchLimits {
  readonly finding: Finding;
  /** The node's time by the HTTP header `Date`, in ms. */
  readonly date: number | undefined;
}

/**
 * Tries how many calls and bytes the node takes in one request, with reads of the chain id and spaces behind them.
 * @param largestCall the bytes of a request that sends the largest wrapper alone.
 */
export async function checkBatches(node: ProbedNode, largestCall: number): Promise<BatchLimits> {
  let date: number | undefined;
  const takes = async (calls: number, bytes: number) => {
    const texts = Array.from({ length: calls }, (_, id) =>
      JSON.stringify({ jsonrpc: "2.0", id, method: "eth_chainId", params: [] }),
    );
    const body = calls === 1 ? `${texts[0]}` : `[${texts.join(",")}]`;
    const answer = await node.poster.post(body.padEnd(bytes)).catch(() => undefined);
    if (answer === undefined) return false;
    const told = Date.parse(answer.date ?? "");
    if (!Number.isNaN(told)) date = told;
    const outcomes = readAnswers(answer, [...texts.keys()], false);
    return outcomes.every((outcome) => outcome !== undefined && "result" in outcome);
  };
  const sizes = [...new Set<number>([...BYTES, largestCall])].sort((a, b) => b - a);
  const [calls, bytes] = await Promise.all([
    largestOf(CALLS, (count) => takes(count, 0)),
    largestOf(sizes, (size) => takes(1, size)),
  ]);
  return { finding: findingOf(calls, bytes, largestCall), date };
}

async function largestOf(sizes: readonly number[], takes: (size: number) => Promise<boolean>) {
  for (const size of sizes) if (await takes(size)) return size;
  return undefined;
}

function findingOf(calls: number | undefined, bytes: number | undefined, largestCall: number): Finding {
  if (bytes === undefined) {
    return notProven("batches", {
      found: "none of the tried requests was answered",
      means: "the service finds the limits while it works",
      remedy: "check the node again when it is less busy",
      mayPass: true,
    });
  }
  const found = `takes ${calls ?? 1} call(s) and ${bytes} bytes in one request`;
  if (bytes < largestCall) {
    return warning("batches", {
      found,
      means: `a wrapper of the largest size needs a request of ${largestCall} bytes, which the node or a proxy refuses`,
      remedy: "raise their limit of the body, or lower --max-wrapper-bytes",
    });
  }
  if (calls !== undefined) return ok("batches", found);
  return warning("batches", {
    found,
    means: "the service makes each call alone, which is slower",
    remedy: "allow batches of JSON-RPC in the node or the proxy",
  });
}
