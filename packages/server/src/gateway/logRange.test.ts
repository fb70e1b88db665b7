import { expect, it, vi } from "vitest";
import { boundedLogFilter } from "./logRange.js";

it("the range of a log filter with two tags costs one question for the latest height", async () => {
  const latest = vi.fn(async () => 90n);
  const range = { fromBlock: "finalized", toBlock: "latest" };
  expect(await boundedLogFilter([range], 1, latest)).toEqual(range);
  expect(latest).toHaveBeenCalledTimes(1);
});
