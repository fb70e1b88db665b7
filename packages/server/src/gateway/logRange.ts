import { isObject } from "../chain/rpc/rpc.js";
import { invalidParams } from "./jsonRpc.js";
import { objectAt, quantityOf } from "./params.js";

/**
 * Bounds the blocks that one `eth_getLogs` may search.
 * @param latest reads the height of the latest block. It is called only where the filter names a block by a tag, and once.
 * @returns the filter for the node, with its own fields alone: nodes in Go take `FromBlock` for `fromBlock`.
 * @throws {@link GatewayRefusal} "invalid params".
 */
export async function boundedLogFilter(
  params: readonly unknown[],
  maxBlocks: number,
  latest: () => Promise<bigint>,
): Promise<Record<string, unknown>> {
  const { address, topics, blockHash, fromBlock, toBlock } = objectAt(params, 0, "the filter");
  const content = { ...(address !== undefined && { address }), ...(topics !== undefined && { topics }) };
  if (blockHash !== undefined && blockHash !== null) {
    // A node that goes by the range would search all of it.
    if (isGiven(fromBlock) || isGiven(toBlock))
      throw invalidParams("the filter has a blockHash beside fromBlock or toBlock");
    return { ...content, blockHash };
  }
  // Nodes differ in what they search where a filter names no block.
  const range = { ...content, fromBlock: fromBlock ?? "latest", toBlock: toBlock ?? "latest" };
  let latestHeight: Promise<bigint> | undefined;
  const heightOf = async (block: unknown) => {
    if (block === "earliest") return 0n;
    if (isTag(block)) {
      latestHeight ??= latest();
      return await latestHeight;
    }
    return quantityOf(block, "the block of a filter") ?? 0n;
  };
  // A filter that names the latest block twice, or not at all, searches one block.
  if (isNearHead(range.fromBlock) && isNearHead(range.toBlock)) return range;
  const blocks = (await heightOf(range.toBlock)) - (await heightOf(range.fromBlock)) + 1n;
  if (blocks > BigInt(maxBlocks)) {
    throw invalidParams(
      `the filter searches ${blocks} blocks, more than ${maxBlocks}: ask for fewer at once`,
    );
  }
  return range;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isTag(block: unknown): boolean {
  return block === "latest" || block === "pending" || block === "safe" || block === "finalized";
}

function isNearHead(block: unknown): boolean {
  return block === "latest" || block === "pending";
}

/** The height in a block, receipt or transaction; undefined where it is in no block yet. */
export function heightIn(answer: unknown, field: "number" | "blockNumber"): bigint | undefined {
  const height = isObject(answer) ? answer[field] : undefined;
  return typeof height === "string" && /^0x[0-9a-f]+$/i.test(height) ? BigInt(height) : undefined;
}
