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
    ...{ id: "a", sender: bytesOf(1, 20), senderNonce: 0n, innerHash, signings: 1 },
    ...{ waiverNonce: 9n, wrapperHash: bytesOf(9) },
  },
  receipt: { succeeded: true, blockNumber: 5n, blockHash: block.hash, gasUsed: 21_000n },
  foreign: false,
};

describe("the wrapper that carried an InnerTx", () => {
  it("is the stored one where nothing speaks for another, and no block is read", async () => {
    const chain = { blocks: () => Promise.reject(new Error("not read")) };
    expect(await findCarriers([executed], chain, false)).toEqual(["own"]);
  });

  it("is the one that the block shows where the store may have lost wrappers", async () => {
    expect(await findCarriers([executed], { blocks: async () => [block] }, true)).toEqual([earlier]);
  });

  it("is not shown where it may be another than the stored one, and the node does not have the block", async () => {
    const chain = { blocks: async () => [undefined] };
    const signedTwice = { ...executed, candidate: { ...executed.candidate, signings: 2 } };
    expect(await findCarriers([executed], chain, true)).toEqual(["not shown"]);
    expect(await findCarriers([signedTwice], chain, false)).toEqual(["not shown"]);
  });
});
