import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AllowedTarget } from "./AllowedTarget.js";
import { anyPolicy, compilePolicy, everyPolicy, intersectTargets, uniteTargets } from "./policySets.js";

const addresses = [1, 2, 3].map((fill) => new Uint8Array(20).fill(fill));
const selectors = [1, 2, 3].map((fill) => new Uint8Array(4).fill(fill));
const targets = fc.array(
  fc.record<AllowedTarget>(
    {
      address: fc.constantFrom<Uint8Array | "*">("*", ...addresses),
      selectors: fc.subarray(selectors),
    },
    { requiredKeys: ["address"] },
  ),
  { maxLength: 4 },
);
/** All calls that the policies above can tell apart. */
const calls = [...addresses, new Uint8Array(20).fill(9)].flatMap((to) =>
  [...selectors, new Uint8Array(4).fill(9), new Uint8Array(0)].map((data) => [to, data] as const),
);
const allowedBy = (list: readonly AllowedTarget[]) => {
  const policy = compilePolicy(list);
  return calls.map(([to, data]) => policy.check(to, data) === "allowed");
};

describe("two lists of targets", () => {
  it("intersect to what both permit, as their policies do", () => {
    fc.assert(
      fc.property(targets, targets, (one, other) => {
        const [a, b] = [allowedBy(one), allowedBy(other)];
        const both = a.map((allowed, i) => allowed && b[i] === true);
        expect(allowedBy(intersectTargets(one, other))).toEqual(both);
        const policy = everyPolicy([compilePolicy(one), compilePolicy(other)]);
        expect(calls.map(([to, data]) => policy.check(to, data) === "allowed")).toEqual(both);
      }),
    );
  });

  it("unite to what either permits, as their policies do", () => {
    fc.assert(
      fc.property(targets, targets, (one, other) => {
        const [a, b] = [allowedBy(one), allowedBy(other)];
        const either = a.map((allowed, i) => allowed || b[i] === true);
        expect(allowedBy(uniteTargets(one, other))).toEqual(either);
        const policy = anyPolicy([compilePolicy(one), compilePolicy(other)]);
        expect(calls.map(([to, data]) => policy.check(to, data) === "allowed")).toEqual(either);
      }),
    );
  });

  it("are the same list if they permit the same, whatever the order and the repetitions", () => {
    fc.assert(
      fc.property(targets, (list) => {
        const united = uniteTargets(list);
        expect(uniteTargets([...list].reverse(), list)).toEqual(united);
        expect(intersectTargets(list, list)).toEqual(united);
        expect(intersectTargets(list, [{ address: "*" }])).toEqual(united);
      }),
    );
  });
});

describe("the verdict of several policies", () => {
  const [a = new Uint8Array(20), b = a] = addresses;
  const [first = new Uint8Array(4), second = first] = selectors;
  const onA = compilePolicy([{ address: a, selectors: [first] }]);
  const onB = compilePolicy([{ address: b, selectors: [first] }]);

  it("of any one of them is that of the policy that comes nearest", () => {
    const any = anyPolicy([onB, onA]);
    expect(any.check(a, first)).toBe("allowed");
    expect(any.check(a, second)).toBe("selector not allowed");
    expect(any.check(new Uint8Array(20), first)).toBe("target not allowed");
    expect(anyPolicy([]).check(a, first)).toBe("target not allowed");
  });

  it("of all of them is that of the first that refuses", () => {
    expect(everyPolicy([onA, onB]).check(a, first)).toBe("target not allowed");
    expect(everyPolicy([onA, onB]).check(a, second)).toBe("selector not allowed");
    expect(everyPolicy([]).check(a, first)).toBe("allowed");
  });
});
