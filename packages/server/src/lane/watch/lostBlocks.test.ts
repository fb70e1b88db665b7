import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { type FinalityView, judgeFinality } from "./lostBlocks.js";

const NOW_S = 1_000_000;
const recorded = { waiverNonce: 7n, blockNumber: 100n, blockHash: bytes(32, 1) };
const view = (changes: Partial<FinalityView>): FinalityView => ({
  recorded,
  waiverNonce: 5n,
  blockHash: undefined,
  head: { number: 90n, timestamp: NOW_S - 2 },
  ...changes,
});

describe("a final block of the store, by the view of a node,", () => {
  it.each<[string, Partial<FinalityView>, ReturnType<typeof judgeFinality>]>([
    ["is kept where the nonce is above its own", { waiverNonce: 8n }, "kept"],
    ["is lost where another block is at its height", { blockHash: bytes(32, 2) }, "lost"],
    ["is lost where the head is below it and of just now", {}, "lost"],
    [
      "may be there where the head is old: the node lags",
      { head: { number: 90n, timestamp: NOW_S - 3_600 } },
      "no evidence",
    ],
    [
      "may be there where the head has no time",
      { head: { number: 90n, timestamp: undefined } },
      "no evidence",
    ],
    [
      "may be there where the head is above it: the node answers at two moments",
      { head: { number: 101n, timestamp: NOW_S } },
      "no evidence",
    ],
    ["is kept where the node has it, and still says a low nonce", { blockHash: bytes(32, 1) }, "kept"],
  ])("%s", (_, changes, judgement) => {
    expect(judgeFinality(view(changes), NOW_S)).toBe(judgement);
  });
});
