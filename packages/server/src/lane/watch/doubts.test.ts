import { expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { WatchContext } from "../context.js";
import { createDoubts } from "./doubts.js";

it("unprovable nonces are named in the log once, and once more when blocks tell who used them", async () => {
  const logged: unknown[] = [];
  let unproven = [{ account: bytes(20, 1), nonce: 7n }];
  const doubts = createDoubts(
    {
      store: { pool: { query: async () => ({ rows: [] }) } },
      nonceProofs: { isSearching: false, unproven: () => unproven },
      log: {
        warn: (values: object) => void logged.push(values),
        info: (sentence: string) => void logged.push(sentence),
      },
    } as unknown as WatchContext,
    () => {},
  );
  const ask = async (lane: HeldLane) => {
    for (const question of doubts.questions) await question(lane);
  };
  const held = { chain: 1, waiver: bytes(20, 1), owner: "replica", epoch: 1n };
  for (let i = 0; i < 3; i++) await ask(held);
  expect(logged).toEqual([{ count: 1, nonces: [`0x${"01".repeat(20)} 7`] }]);
  unproven = [];
  for (let i = 0; i < 3; i++) await ask(held);
  expect(logged).toHaveLength(2);
});
