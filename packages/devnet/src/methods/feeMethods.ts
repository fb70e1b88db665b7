import type { Hex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { Chain } from "../chain/chain.js";
import { invalidParams } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { quantity, shortJson } from "../rpc/params.js";
import { requireBlock } from "./findBlock.js";
import { toQuantity } from "./format.js";

const MAX_FEE_HISTORY = 1_024n;

/**
 * Methods for fees. Without a base fee, the price floor (D11) is the gas price and the suggested tip. With one, nobody pays
 * a tip, and the base fee is the price.
 */
export function feeMethods(chain: Chain): Methods {
  const price = () => toQuantity(chain.options.baseFee || chain.options.minGasPrice);
  const tip = () => (chain.options.baseFee > 0n ? "0x0" : price());
  return {
    eth_gasPrice: price,
    eth_maxPriorityFeePerGas: tip,
    eth_blobBaseFee: () => "0x1",
    eth_feeHistory: ([count, newest, percentiles]) => {
      const isNumber = typeof count === "number" && Number.isInteger(count) && count >= 0;
      const blockCount = isNumber ? BigInt(count) : quantity(count, "blockCount");
      const blocks = lastBlocks(chain, requireBlock(chain, newest).number, blockCount);
      const points = readPercentiles(percentiles);
      const ratios = blocks.map(({ header }) => Number(header.gasUsed) / Number(header.gasLimit));
      return {
        oldestBlock: toQuantity(blocks[0]?.number ?? 0),
        baseFeePerGas: [
          ...blocks.map(({ header }) => toQuantity(header.baseFeePerGas ?? 0n)),
          toQuantity(chain.options.baseFee),
        ],
        gasUsedRatio: ratios,
        baseFeePerBlobGas: [...blocks.map(() => "0x1"), "0x1"],
        blobGasUsedRatio: blocks.map(() => 0),
        ...(points.length > 0 && { reward: blocks.map((block) => rewards(block, points, tip())) }),
      };
    },
  };
}

function lastBlocks(chain: Chain, last: number, count: bigint): SealedBlock[] {
  const size = Number(count < MAX_FEE_HISTORY ? count : MAX_FEE_HISTORY);
  const blocks: SealedBlock[] = [];
  for (let number = Math.max(0, last - size + 1); number <= last && size > 0; number++) {
    const block = chain.ledger.byNumber(number);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/**
 * The prices at percentiles of the block's paid gas. Wallets suggest these prices, so waived transactions are left out,
 * and a block without paid transactions has the floor.
 */
function rewards(block: SealedBlock, points: readonly number[], floor: Hex): Hex[] {
  const baseFee = block.header.baseFeePerGas ?? 0n;
  const paid = block.transactions
    .filter(({ role }) => role === "ordinary")
    .map(({ receipt }) => ({ price: receipt.effectiveGasPrice - baseFee, gas: Number(receipt.gasUsed) }))
    .sort((a, b) => (a.price < b.price ? -1 : Number(a.price > b.price)));
  const total = paid.reduce((sum, { gas }) => sum + gas, 0);
  return points.map((point) => {
    let cumulativeGas = 0;
    const atPercentile = paid.find(({ gas }) => {
      cumulativeGas += gas;
      return cumulativeGas >= (total * point) / 100;
    });
    return atPercentile === undefined ? floor : toQuantity(atPercentile.price);
  });
}

function readPercentiles(value: unknown): readonly number[] {
  if (value === undefined || value === null) return [];
  const ordered = (list: readonly unknown[]) =>
    list.every((item, i) => i === 0 || Number(list[i - 1]) <= Number(item));
  const inRange = (item: unknown): item is number => typeof item === "number" && item >= 0 && item <= 100;
  if (!Array.isArray(value) || value.length > 100 || !value.every(inRange) || !ordered(value)) {
    throw invalidParams(
      `rewardPercentiles is ${shortJson(value)}, not a list of up to 100 ascending numbers from 0 to 100`,
    );
  }
  return value;
}
