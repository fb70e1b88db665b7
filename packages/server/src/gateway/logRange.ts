import { isObject } from "../chain/rpc.js";
import { invalidParams } from "./jsonRpc.js";
import { objectAt, quantityOf } from "./params.js";

/**
 * Bounds the blocks that one `eth_getLogs` may search.
 * @param latest reads the height of the latest block. It is called only where the filter names that block.
 * @throws {@link RpcRefusal} "invalid params".
 */
export async function assertLogRange(
  params: readonly unknown[],
  maxBlocks: number,
  latest: () => Promise<bigint>,
): Promise<void> {
  const filter = objectAt(params, 0, "the filter");
  if (filter.blockHash !== undefined && filter.blockHash !== null) return;
  const heightOf = async (block: unknown) => {
    if (block === "earliest") return 0n;
    if (block === undefined || block === null || isTag(block)) return await latest();
    return quantityOf(block, "the block of a filter") ?? 0n;
  };
  const { fromBlock, toBlock } = filter;
  // A filter that names the latest block twice, or not at all, searches one block.
  if (isNearHead(fromBlock) && isNearHead(toBlock)) return;
  const blocks = (await heightOf(toBlock)) - (await heightOf(fromBlock)) + 1n;
  if (blocks > BigInt(maxBlocks)) {
    throw invalidParams(
      `the filter searches ${blocks} blocks, more than ${maxBlocks}: ask for fewer at once`,
    );
  }
}

function isTag(block: unknown): boolean {
  return block === "latest" || block === "pending" || block === "safe" || block === "finalized";
}

function isNearHead(block: unknown): boolean {
  return block === undefined || block === null || block === "latest" || block === "pending";
}

/** The height in a block, receipt or transaction; undefined where it is in no block yet. */
export function heightIn(answer: unknown, field: "number" | "blockNumber"): bigint | undefined {
  const height = isObject(answer) ? answer[field] : undefined;
  return typeof height === "string" && /^0x[0-9a-f]+$/i.test(height) ? BigInt(height) : undefined;
}
