import { expect, it } from "vitest";
import { admitAnswer } from "./admitAnswer.js";

/** Admits an answer of so many bytes, and tells what was counted and which turns were waited for. */
async function admitted(bytes: number) {
  const turns: number[] = [];
  let counted = 0;
  let isLost = false;
  const memory = {
    grow(more: number) {
      if (more > 1_000_000) throw new Error("no room");
      counted += more;
    },
  };
  const run = async <T>(more: number, slice: () => T) => {
    turns.push(more);
    return slice();
  };
  const exchange = {
    lost() {
      isLost = true;
    },
  };
  const failure = await admitAnswer("a".repeat(bytes), exchange, memory, run).catch(
    (error: Error) => error.message,
  );
  return { counted, turns, isLost, failure };
}

it("a large answer waits for the turn of its party, and a small one does not", async () => {
  expect(await admitted(1_000)).toEqual({ counted: 1_000, turns: [], isLost: false, failure: undefined });
  expect(await admitted(100_000)).toMatchObject({ counted: 100_000, turns: [100_000], isLost: false });
});

it("an answer for which there is no room is lost, so that the client may send again", async () => {
  expect(await admitted(2_000_000)).toMatchObject({
    counted: 0,
    turns: [],
    isLost: true,
    failure: "no room",
  });
});
