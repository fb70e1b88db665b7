// An endpoint's limits on the size of requests, learnt from its answers.
import { describe, expect, it } from "vitest";
import { EndpointLimits, MAX_REQUEST_BYTES } from "./endpointLimits.js";

/** The first request of a list of calls with these bytes each. */
function firstOf(limits: EndpointLimits, sizes: readonly number[]) {
  const request = { calls: 0, bytes: 0 };
  for (const size of sizes) {
    if (limits.boundOf(request, size) !== undefined) break;
    request.calls++;
    request.bytes += size;
  }
  return request;
}
const SMALL = Array<number>(150).fill(100);
const LARGE = Array<number>(10).fill(200_000);
const callsOf = (limits: EndpointLimits, sizes = SMALL) => firstOf(limits, sizes).calls;

describe("the limits of an endpoint", () => {
  it("begin at 100 calls and 512 KiB; a call that is larger alone goes alone", () => {
    const limits = new EndpointLimits();
    expect(callsOf(limits)).toBe(100);
    expect(callsOf(limits, LARGE)).toBe(2);
    expect(callsOf(limits, [2 * MAX_REQUEST_BYTES, 10])).toBe(1);
    expect(callsOf(limits, [10, 2 * MAX_REQUEST_BYTES, 10])).toBe(1);
  });

  it("are halved in calls for requests of many small calls, down to one", () => {
    const limits = new EndpointLimits();
    const tried = Array.from({ length: 9 }, () => {
      const request = firstOf(limits, SMALL);
      limits.lower(request);
      return request.calls;
    });
    expect(tried).toEqual([100, 50, 25, 12, 6, 3, 1, 1, 1]);
  });

  it("are halved in bytes for requests of few large calls, and the calls stay", () => {
    const limits = new EndpointLimits();
    limits.lower(firstOf(limits, LARGE));
    expect([callsOf(limits, LARGE), callsOf(limits)]).toEqual([1, 100]);
  });

  it("are tried upwards after 16 requests at the limit, and after twice as many each time that fails", () => {
    const limits = new EndpointLimits();
    const refusedAt: number[] = [];
    for (let i = 0; i < 250; i++) {
      const request = firstOf(limits, SMALL);
      if (request.calls <= 10) limits.fit("calls");
      else {
        limits.lower(request);
        refusedAt.push(i);
      }
    }
    expect(refusedAt).toEqual([0, 1, 2, 3, 20, 53, 118, 247]);
  });

  it("return to their first values when the endpoint takes more again", () => {
    const limits = new EndpointLimits();
    while (callsOf(limits) > 1) limits.lower(firstOf(limits, SMALL));
    for (let i = 0; i < 7 * 16 + 1; i++) limits.fit("calls");
    expect(callsOf(limits)).toBe(100);
  });
});
