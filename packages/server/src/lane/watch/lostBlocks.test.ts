import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import type { Store } from "../../store/store.js";
import { createLostBlocksCheck, type FinalityView, judgeFinality } from "./lost.js";

const recorded = { waiverNonce: 7n, blockNumber: 100n, blockHash: bytes(32, 1) };
const OTHER = bytes(32, 2);
const view = (changes: Partial<FinalityView>): FinalityView => ({
  recorded,
  waiverNonce: 5n,
  blockHash: undefined,
  isDeep: false,
  ...changes,
});

describe("a final block of the store, by the view of a node,", () => {
  it.each<[string, Partial<FinalityView>, ReturnType<typeof judgeFinality>]>([
    ["is kept where the node has it, and still says a low nonce", { blockHash: recorded.blockHash }, "kept"],
    ["is lost where another block is at its height, and final", { blockHash: OTHER, isDeep: true }, "lost"],
    ["may be there where another block at its height may still go away", { blockHash: OTHER }, "lag"],
    ["may be there where the node ends below it", {}, "lag"],
    ["may be there where the node has later blocks, and its own was pruned", { isDeep: true }, "lag"],
  ])("%s", (_, changes, judgement) => {
    expect(judgeFinality(view(changes))).toBe(judgement);
  });
});

describe("the check of a lane's final blocks", () => {
  /** Runs the check once a second against a node with these blocks, and returns what it did and said. */
  async function runFor(
    seconds: number,
    blockAt: (height: bigint, second: number) => Uint8Array | undefined,
    nextWithout = 5n,
  ) {
    const said: string[] = [];
    let second = 0;
    const note =
      (level: string) =>
      (...words: unknown[]) =>
        void said.push(`${level} at ${second}: ${words.at(-1)}`);
    const log = { info: note("info"), warn: note("warn"), error: note("error"), fatal: note("fatal") };
    const check = createLostBlocksCheck(
      {
        store: { pool: { query: async () => ({ rows: [{ ...recorded }] }) } } as unknown as Store,
        chain: {
          nonces: async () => [blockAt(100n, second) === recorded.blockHash ? 8n : nextWithout],
          blockHashes: async (heights: readonly bigint[]) => heights.map((height) => blockAt(height, second)),
          blockHashByEach: async () => [OTHER],
        } as never,
        log: log as never,
        options: { reorgDepth: 3 },
        onLaneStopped: () => said.push("stopped"),
      },
      () => second * 1_000,
    );
    const held = { chain: 1, waiver: bytes(20, 1), owner: "", epoch: 1n };
    for (; second < seconds; second++) await check.run(held);
    return { said, wait: check.wait };
  }

  it("takes them for kept where the chain shows the lane's nonce as used, whatever a node has at their height", async () => {
    const { said, wait } = await runFor(60, () => OTHER, 8n);
    expect([said, wait]).toEqual([[], undefined]);
  });

  it("takes a node that ends below them for one that lags, for hours, and names the wait until it has caught up", async () => {
    const lagging = await runFor(7_200, () => undefined);
    expect(lagging.said).toEqual([]);
    expect(lagging.wait).toEqual({
      cause: "lag",
      sentence:
        "the nodes lack final blocks of the lane: the waiver's next nonce is 5, and final block 100 had its nonce 7",
    });
    expect((await runFor(1, () => undefined)).wait).toBeUndefined();
    const kept = await runFor(60, (_, second) => (second < 30 ? undefined : recorded.blockHash));
    expect(kept).toEqual({ said: [], wait: undefined });
  });

  it("stops the lane only once other blocks are as deep as a reorg can be, and stay for a while", async () => {
    const other = (height: bigint, second: number) => (height <= 100 + second / 10 ? OTHER : undefined);
    expect((await runFor(50, other)).said).toEqual([
      "error at 30: the chain seems to have lost final blocks",
      "stopped",
      "fatal at 45: the lane stops: the chain has lost final blocks",
      "error at 46: the chain seems to have lost final blocks",
    ]);
  });
});
