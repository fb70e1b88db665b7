// An endpoint's limits on the size of requests, learnt from its answers.
import { describe, expect, it } from "vitest";
import type { BatchFit } from "./batchAnswer.js";
import { EndpointLimits, MAX_REQUEST_BYTES } from "./endpointLimits.js";

const SMALL = Array<number>(100).fill(100);
const LARGE = Array<number>(10).fill(200_000);

/** Sends the first part of a list; returns its number of calls. */
function sendPart(
  limits: EndpointLimits,
  sizes: readonly number[],
  fit: BatchFit,
  wasHealthy = true,
): number {
  const part = limits.partFrom(sizes, 0);
  limits.learn(part, fit, wasHealthy);
  return part.end;
}
const callsOf = (limits: EndpointLimits, sizes = SMALL) => limits.partFrom(sizes, 0).end;

describe("the limits of an endpoint", () => {
  it("begin at 100 calls and 512 KiB; a call that is larger alone goes alone", () => {
    const limits = new EndpointLimits();
    expect(callsOf(limits, Array(150).fill(100))).toBe(100);
    expect(callsOf(limits, LARGE)).toBe(2);
    expect(callsOf(limits, [2 * MAX_REQUEST_BYTES, 10])).toBe(1);
    expect(limits.partFrom([10, 2 * MAX_REQUEST_BYTES, 10], 1)).toMatchObject({ first: 1, end: 2 });
  });

  it.each(["too many calls", "cut short"] as const)("are halved after %s, down to one call", (fit) => {
    const limits = new EndpointLimits();
    const tried = Array.from({ length: 9 }, () => sendPart(limits, SMALL, fit));
    expect(tried).toEqual([100, 50, 25, 12, 6, 3, 1, 1, 1]);
  });

  it("are halved in bytes after too many bytes, and the calls stay", () => {
    const limits = new EndpointLimits();
    sendPart(limits, LARGE, "too many bytes");
    expect([callsOf(limits, LARGE), callsOf(limits, SMALL)]).toEqual([1, 100]);
  });

  it("are halved by the second unclear answer in a row, then by each, and by none of an outage", () => {
    const limits = new EndpointLimits();
    sendPart(limits, SMALL, "unclear");
    sendPart(limits, SMALL, "fits");
    sendPart(limits, SMALL, "unclear");
    for (let i = 0; i < 5; i++) sendPart(limits, SMALL, "unclear", false);
    expect(callsOf(limits)).toBe(100);
    sendPart(limits, SMALL, "unclear");
    expect([sendPart(limits, SMALL, "unclear"), callsOf(limits)]).toEqual([50, 25]);
  });

  it("are tried upwards after 16 requests at the limit, and after twice as many each time that fails", () => {
    const limits = new EndpointLimits();
    const node = (calls: number): BatchFit => (calls > 10 ? "too many calls" : "fits");
    const refusedAt: number[] = [];
    for (let i = 0; i < 250; i++) {
      if (sendPart(limits, SMALL, node(callsOf(limits))) > 10) refusedAt.push(i);
    }
    expect(refusedAt).toEqual([0, 1, 2, 3, 20, 53, 118, 247]);
  });

  it("return to their first values when the endpoint takes more again", () => {
    const limits = new EndpointLimits();
    while (sendPart(limits, SMALL, "too many calls") > 1);
    for (let i = 0; i < 7 * 16 + 1; i++) sendPart(limits, SMALL, "fits");
    expect(callsOf(limits)).toBe(100);
  });
});
