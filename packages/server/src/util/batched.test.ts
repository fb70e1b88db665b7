import { expect, it } from "vitest";
import { batched } from "./batched.js";

/** A call that the test answers: each text with its length. */
function lengths() {
  const calls: { readonly asked: readonly string[]; answer(): void; fail(): void }[] = [];
  const call = batched(
    (asked: readonly string[]) =>
      new Promise<readonly number[]>((resolve, reject) => {
        const answer = () => resolve(asked.map(({ length }) => length));
        calls.push({ asked, answer, fail: () => reject(new Error("no")) });
      }),
  );
  return { call, calls };
}

it("makes one call for all that is asked for during another one, and answers each", async () => {
  const { call, calls } = lengths();
  const first = call("a");
  await expect.poll(() => calls.length).toBe(1);
  const later = ["bb", "ccc", "bb"].map(call);
  calls[0]?.answer();
  expect(await first).toBe(1);
  await expect.poll(() => calls.length).toBe(2);
  expect(calls[1]?.asked).toEqual(["bb", "ccc", "bb"]);
  calls[1]?.answer();
  expect(await Promise.all(later)).toEqual([2, 3, 2]);
});

it("rejects for what a failed call was asked for, and for nothing else", async () => {
  const { call, calls } = lengths();
  const first = call("a");
  await expect.poll(() => calls.length).toBe(1);
  const second = call("bb");
  calls[0]?.fail();
  await expect(first).rejects.toThrow("no");
  await expect.poll(() => calls.length).toBe(2);
  calls[1]?.answer();
  expect(await second).toBe(2);
});

it("makes one call at a time, also when more is asked for as soon as a call has ended", async () => {
  let running = 0;
  let calls = 0;
  const call = batched(async (asked: readonly undefined[]) => {
    calls++;
    expect(++running).toBe(1);
    await new Promise(setImmediate);
    running--;
    return asked;
  });
  const again = call(undefined).then(() => call(undefined));
  await Promise.all([call(undefined), again]);
  expect(calls).toBe(2);
});
