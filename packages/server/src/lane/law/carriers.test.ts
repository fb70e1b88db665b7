import { crypto, hexToBytes, MARKER_ADDRESS } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { innerOf } from "../../../test/support/user.js";
import type { BlockWithTransactions } from "../../chain/client/nodeClient.js";
import { type Executed, findCarriers } from "./chainOutcomes.js";

const bytesOf = (fill: number, length = 32) => new Uint8Array(length).fill(fill);
const inner = hexToBytes(innerOf(1));
const innerHash = crypto.keccak256(inner);
const earlier = { waiver: bytesOf(7, 20), waiverNonce: 3n, wrapperHash: bytesOf(8) };

/** Block 5, in which an earlier wrapper carried the InnerTx. */
const block: BlockWithTransactions = {
  hash: bytesOf(5),
  transactions: [
    { hash: earlier.wrapperHash, from: earlier.waiver, nonce: 3n, to: MARKER_ADDRESS, input: inner },
    { hash: innerHash, from: bytesOf(1, 20), nonce: 0n, to: bytesOf(2, 20), input: new Uint8Array() },
  ],
};
const executed: Executed = {
  candidate: {
    ...{ id: "a", sender: bytesOf(1, 20), senderNonce: 0n, innerHash, signings: 1, strikes: 0 },
    ...{ waiverNonce: 9n, wrapperHash: bytesOf(9) },
  },
  receipt: { succeeded: true, blockNumber: 5n, blockHash: block.hash, gasUsed: 21_000n },
  foreign: false,
};

/** Finds carriers where no reorg takes a block away. */
async function carriersOf(
  some: readonly Executed[],
  chain: { readonly blocks: (heights: readonly bigint[]) => Promise<(BlockWithTransactions | undefined)[]> },
  mayLackWrappers: boolean,
) {
  const doubts = { mayLackWrappers, mayReorg: false };
  const blockHashes = () => Promise.reject(new Error("not read"));
  return (await findCarriers(some, { ...chain, blockHashes }, doubts)).map(({ carriedBy }) => carriedBy);
}

describe("the wrapper that carried an InnerTx", () => {
  it("is the stored one where nothing speaks for another, and no block is read", async () => {
    const chain = { blocks: () => Promise.reject(new Error("not read")) };
    expect(await carriersOf([executed], chain, false)).toEqual(["own"]);
  });

  it("is the one that the block shows where the store may have lost wrappers", async () => {
    expect(await carriersOf([executed], { blocks: async () => [block] }, true)).toEqual([earlier]);
  });

  it("is not shown where it may be another than the stored one, and the node does not have the block", async () => {
    const chain = { blocks: async () => [undefined] };
    const signedTwice = { ...executed, candidate: { ...executed.candidate, signings: 2 } };
    expect(await carriersOf([executed], chain, true)).toEqual(["not shown"]);
    expect(await carriersOf([signedTwice], chain, false)).toEqual(["not shown"]);
  });

  describe("where it may be another", () => {
    const own = { hash: bytesOf(9), from: bytesOf(6, 20), nonce: 9n, to: MARKER_ADDRESS, input: inner };
    const other = { ...own, hash: bytesOf(20), to: bytesOf(2, 20) };
    const [wrapper, run] = block.transactions as [typeof own, typeof own];
    const queued: Executed = {
      ...executed,
      candidate: { id: "b", sender: bytesOf(1, 20), senderNonce: 0n, innerHash, signings: 0, strikes: 0 },
    };
    const carrierIn = async (shown: BlockWithTransactions, one: Executed = { ...executed, foreign: true }) =>
      (await carriersOf([one], { blocks: async () => [shown] }, false))[0];

    it("is the stored one where the block has that among its transactions", async () => {
      expect(await carrierIn({ ...block, transactions: [other, own, run] })).toBe("own");
    });

    it("is the one directly before the InnerTx, for a submission without a wrapper too", async () => {
      expect(await carrierIn(block)).toEqual(earlier);
      expect(await carrierIn(block, { ...queued, foreign: true })).toEqual(earlier);
    });

    it.each<[string, readonly (typeof own)[]]>([
      ["the block does not have the InnerTx", [wrapper]],
      ["nothing stands before the InnerTx", [run, wrapper]],
      ["what stands before it is no wrapper", [wrapper, other, run]],
      ["the wrapper before it carries another", [{ ...wrapper, input: hexToBytes(innerOf(2)) }, run]],
      ["the wrapper before it carries no transaction", [{ ...wrapper, input: bytesOf(1) }, run]],
    ])("is unknown where %s", async (_, transactions) => {
      expect(await carrierIn({ ...block, transactions })).toBe("unknown");
    });

    it("is in another block where the node has one without the InnerTx at that height, and not shown where it fails", async () => {
      expect(await carrierIn({ ...block, hash: bytesOf(55), transactions: [wrapper] })).toBe("another block");
      expect(await carrierIn({ ...block, hash: bytesOf(55) })).toEqual(earlier);
      const chain = { blocks: () => Promise.reject(new Error("no answer")) };
      expect(await carriersOf([executed], chain, true)).toEqual(["not shown"]);
    });

    it("is looked for in each block once", async () => {
      const asked: bigint[][] = [];
      const blocks = async (heights: readonly bigint[]) => {
        asked.push([...heights]);
        return heights.map(() => block);
      };
      const later = { ...executed, receipt: { ...executed.receipt, blockNumber: 6n } };
      await carriersOf([executed, later, executed], { blocks }, true);
      expect(asked).toEqual([[5n, 6n]]);
    });
  });
});

describe("the block of an InnerTx, where a reorg may take it away", () => {
  const other = bytesOf(55);
  const find = async (hash: Uint8Array | undefined, shown: BlockWithTransactions) => {
    const chain = { blockHashes: async () => [hash], blocks: async () => [shown] };
    return (await findCarriers([executed], chain, { mayLackWrappers: false, mayReorg: true }))[0];
  };

  it("is that of the receipt where the node has it or does not show one", async () => {
    const own = { carriedBy: "own", blockHash: block.hash };
    expect(await find(block.hash, block)).toEqual(own);
    expect(await find(undefined, block)).toEqual(own);
  });

  it("is the one at that height where this has the InnerTx, whatever hash the receipt gives", async () => {
    expect(await find(other, { ...block, hash: other })).toEqual({ carriedBy: earlier, blockHash: other });
  });

  it("is another one where the block at that height does not have the InnerTx", async () => {
    expect((await find(other, { hash: other, transactions: [] }))?.carriedBy).toBe("another block");
  });
});
