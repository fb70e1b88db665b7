import { describe, expect, it } from "vitest";
import type { BatchFit } from "./batchAnswer.js";
import { EndpointLimits } from "./endpointLimits.js";
import { ListParts } from "./listParts.js";

const CALL_BYTES = 400;

/** Sends a list of calls to an endpoint that refuses some requests for their bytes. Returns the calls of each request. */
function sendList(
  count: number,
  limits: EndpointLimits,
  isRefused: (calls: readonly number[]) => boolean,
): number[][] {
  const parts = new ListParts(Array(count).fill(CALL_BYTES));
  const requests: number[][] = [];
  for (let first = 0; first < count; ) {
    const part = parts.partFrom(limits, first);
    const calls = Array.from({ length: part.end - first }, (_, i) => first + i);
    const fit: BatchFit = isRefused(calls) ? "too many bytes" : "fits";
    parts.onAnswer(limits, part, fit, true);
    requests.push(calls);
    if (fit === "fits" || calls.length === 1) first = part.end;
  }
  return requests;
}
const sizesOf = (requests: readonly (readonly number[])[]) => requests.map(({ length }) => length);
const has =
  (...culprits: readonly number[]) =>
  (calls: readonly number[]) =>
    culprits.some((culprit) => calls.includes(culprit));

describe("a list of calls", () => {
  it("with one that is refused alone lowers no limit, and grows again behind it", () => {
    const limits = new EndpointLimits();
    const requests = sendList(100, limits, has(13));
    expect(sizesOf(requests)).toEqual([100, 50, 25, 12, 12, 6, 3, 1, 1, 1, 2, 4, 8, 16, 32, 23]);
    expect(sizesOf(sendList(100, limits, () => false))).toEqual([100]);
  });

  it("with many in a row that are refused alone has one request for each of them", () => {
    const isRefused = has(...Array.from({ length: 16 }, (_, i) => i));
    const sizes = sizesOf(sendList(20, new EndpointLimits(), isRefused));
    expect(sizes).toEqual([20, 10, 5, 2, ...Array(16).fill(1), 1, 2, 1]);
  });

  it("that is answered in smaller requests teaches the limit", () => {
    const limits = new EndpointLimits();
    const isRefused = (calls: readonly number[]) => calls.length * CALL_BYTES > 10_000;
    expect(sizesOf(sendList(100, limits, isRefused))).toEqual([100, 50, 25, 25, 25, 25]);
    expect(sizesOf(sendList(100, limits, isRefused))).toEqual([25, 25, 25, 25]);
  });

  it("that is to go in one request teaches the limit at once", () => {
    const limits = new EndpointLimits();
    const sizes = Array<number>(100).fill(CALL_BYTES);
    const parts = new ListParts(sizes, { together: true });
    parts.onAnswer(limits, parts.partFrom(limits, 0), "too many bytes", true);
    expect(limits.partFrom(sizes, 0).end).toBe(50);
  });
});
