import { describe, expect, it } from "vitest";
import {
  refusal,
  TRANSFER_SELECTOR as SELECTOR,
  TOKEN,
  TRANSFER,
  USER,
} from "../../test/support/fixtures.js";
import { bytesToHex } from "../encoding/hex.js";
import {
  type AllowedTarget,
  allowedTargetsToJson,
  assertVerdict,
  InvalidAllowedTargetError,
  parseAllowedTargets,
  selectorOf,
} from "./AllowedTarget.js";
import { compilePolicy } from "./policySets.js";

const OTHER_SELECTOR = Uint8Array.of(1, 2, 3, 4);
const NOTHING = new Uint8Array(0);
const check = (targets: AllowedTarget[], to = TOKEN, data: Uint8Array = TRANSFER) =>
  compilePolicy(targets).check(to, data);

describe("a policy (D4)", () => {
  it("permits nothing when it is empty", () => {
    expect(check([])).toBe("target not allowed");
    expect(check([], TOKEN, NOTHING)).toBe("target not allowed");
  });

  it("permits any calldata of a target without selectors, empty calldata included", () => {
    for (const data of [TRANSFER, NOTHING, SELECTOR.subarray(0, 3)]) {
      expect(check([{ address: TOKEN }], TOKEN, data)).toBe("allowed");
    }
    expect(check([{ address: TOKEN }], USER)).toBe("target not allowed");
  });

  it("permits only the selectors it lists", () => {
    const targets = [{ address: TOKEN, selectors: [SELECTOR] }];
    expect(check(targets)).toBe("allowed");
    expect(check(targets, TOKEN, SELECTOR)).toBe("allowed");
    expect(check(targets, TOKEN, OTHER_SELECTOR)).toBe("selector not allowed");
    expect(check(targets, USER)).toBe("target not allowed");
  });

  it("finds no selector in calldata shorter than 4 bytes", () => {
    const targets = [{ address: TOKEN, selectors: [SELECTOR] }];
    for (const length of [0, 1, 2, 3]) {
      expect(check(targets, TOKEN, TRANSFER.subarray(0, length))).toBe("selector not allowed");
    }
  });

  it("permits nothing of a target with an empty list of selectors", () => {
    expect(check([{ address: TOKEN, selectors: [] }])).toBe("selector not allowed");
    expect(check([{ address: TOKEN, selectors: [] }], TOKEN, NOTHING)).toBe("selector not allowed");
  });

  it("lets * match any target", () => {
    expect(check([{ address: "*" }], USER, NOTHING)).toBe("allowed");
    const some: AllowedTarget[] = [{ address: "*", selectors: [SELECTOR] }];
    expect(check(some, USER)).toBe("allowed");
    expect(check(some, USER, OTHER_SELECTOR)).toBe("selector not allowed");
    expect(check(some, USER, NOTHING)).toBe("selector not allowed");
  });

  it("adds entries up, for the same target and for * and a target, in any order", () => {
    const one: AllowedTarget = { address: TOKEN, selectors: [SELECTOR] };
    const two: AllowedTarget = { address: TOKEN, selectors: [OTHER_SELECTOR] };
    const all: AllowedTarget = { address: TOKEN };
    const everywhere: AllowedTarget = { address: "*", selectors: [OTHER_SELECTOR] };
    for (const targets of [
      [one, two],
      [two, one],
      [one, everywhere],
      [everywhere, one],
    ]) {
      expect(check(targets)).toBe("allowed");
      expect(check(targets, TOKEN, OTHER_SELECTOR)).toBe("allowed");
      expect(check(targets, TOKEN, NOTHING)).toBe("selector not allowed");
    }
    for (const targets of [
      [one, all],
      [all, one],
      [one, { address: "*" } as const],
    ]) {
      expect(check(targets, TOKEN, NOTHING)).toBe("allowed");
    }
    // A narrow entry for a target does not narrow the wide one for all.
    expect(check([{ address: "*" }, { address: TOKEN, selectors: [] }])).toBe("allowed");
  });

  it("lists the selectors of a target: its own and those of *, in order, and undefined for any calldata", () => {
    const listed = (...targets: AllowedTarget[]) => compilePolicy(targets).selectorsFor(TOKEN);
    const [own, other] = [bytesToHex(SELECTOR), bytesToHex(OTHER_SELECTOR)];
    expect(listed()).toEqual([]);
    expect(listed({ address: USER })).toEqual([]);
    expect(listed({ address: TOKEN, selectors: [SELECTOR] })).toEqual([own]);
    expect(listed({ address: "*", selectors: [SELECTOR] })).toEqual([own]);
    const both: AllowedTarget[] = [
      { address: TOKEN, selectors: [SELECTOR] },
      { address: "*", selectors: [OTHER_SELECTOR] },
    ];
    expect(listed(...both)).toEqual([other, own]);
    expect(listed(...both, { address: TOKEN })).toBeUndefined();
    expect(listed(...both, { address: "*" })).toBeUndefined();
  });

  it("compiles 20,000 entries for one target without copying them again and again", () => {
    const entry = (i: number): AllowedTarget => ({
      address: TOKEN,
      selectors: [Uint8Array.of(0, i >> 16, i >> 8, i)],
    });
    const started = performance.now();
    const policy = compilePolicy(Array.from({ length: 20_000 }, (_, i) => entry(i)));
    expect(performance.now() - started).toBeLessThan(3_000);
    expect(policy.check(TOKEN, Uint8Array.of(0, 0, 0x4e, 0x1f))).toBe("allowed");
    expect(policy.check(TOKEN, Uint8Array.of(0, 0, 0x4e, 0x20))).toBe("selector not allowed");
  });
});

describe("assertVerdict", () => {
  it("names the target, the selector and the policy", () => {
    const target = bytesToHex(TOKEN);
    expect(
      refusal(() => assertVerdict("target not allowed", TOKEN, TRANSFER, "the policy of X")),
    ).toMatchObject({
      reason: "TARGET_NOT_ALLOWED",
      message: `target ${target} is not permitted by the policy of X`,
      values: { target },
    });
    expect(
      refusal(() => assertVerdict("selector not allowed", TOKEN, TRANSFER, "the policy of X")),
    ).toMatchObject({
      reason: "SELECTOR_NOT_ALLOWED",
      message: `selector 0xa9059cbb of target ${target} is not permitted by the policy of X`,
      values: { target, selector: "0xa9059cbb" },
    });
    expect(refusal(() => assertVerdict("selector not allowed", TOKEN, NOTHING, "X")).values).toEqual({
      target,
      selector: null,
    });
    expect(() => assertVerdict("allowed", TOKEN, TRANSFER, "X")).not.toThrow();
  });
});

describe("the details of a refused selector", () => {
  const refusedWith = (...allowed: (() => readonly string[] | undefined)[]) =>
    refusal(() => assertVerdict("selector not allowed", TOKEN, TRANSFER, "the policy", ...allowed)).values;

  it("list the methods that are permitted, where they are known", () => {
    const known = { target: bytesToHex(TOKEN), selector: bytesToHex(SELECTOR) };
    expect(refusedWith(() => ["0x01020304"])).toEqual({ ...known, allowedSelectors: ["0x01020304"] });
    expect(Object.keys(refusedWith())).toEqual(["target", "selector"]);
  });
});

describe("selectorOf", () => {
  it("is the first 4 bytes, or undefined", () => {
    expect(selectorOf(TRANSFER)).toEqual(SELECTOR);
    expect(selectorOf(SELECTOR)).toEqual(SELECTOR);
    expect(selectorOf(SELECTOR.subarray(0, 3))).toBeUndefined();
  });
});

describe("parseAllowedTargets", () => {
  it("reads what allowedTargetsToJson writes", () => {
    const json = [{ address: "*" }, { address: bytesToHex(TOKEN), selectors: ["0xa9059cbb"] }];
    expect(allowedTargetsToJson(parseAllowedTargets(json))).toEqual(json);
    expect(parseAllowedTargets([])).toEqual([]);
  });

  it.each<[unknown, string]>([
    [{}, "are not a list"],
    [undefined, "are not a list"],
    [["*"], "allowed target 0 is not an object"],
    [[{ address: "*" }, null], "allowed target 1 is not an object"],
    [[{}], "the address of allowed target 0 is missing"],
    [[{ address: "0x12" }], 'the address of allowed target 0 is "0x12", not 20 bytes'],
    [[{ address: "x".repeat(1_000) }], `"${"x".repeat(64)}"…`],
    [[{ address: 5n }], "is a bigint"],
    [[{ address: "*", selectors: "0xa9059cbb" }], "the selectors of allowed target 0 are not a list"],
    [[{ address: "*", selectors: [1] }], "a selector of allowed target 0 is the number 1, not 4 bytes"],
    [[{ address: "*", selectors: ["0xa9059cbb00"] }], "not 4 bytes"],
    [
      [{ address: "*" }, { address: "*", selectors: [] }],
      "the selectors of allowed target 1 are an empty list",
    ],
    [
      [{ address: "0x78cf24370174180738C5B8E352B6D14c83a6c9A9" }],
      "written 0x78Cf24370174180738C5B8E352B6D14c83a6c9A9",
    ],
    [[{ address: "*", selector: [] }], "unknown member selector"],
  ])("refuses %o", (input, message) => {
    const parse = () => parseAllowedTargets(input);
    expect(parse).toThrow(InvalidAllowedTargetError);
    expect(parse).toThrow(message);
  });

  it("takes no list for an address, though its text is one", () => {
    const targets = [{ address: [bytesToHex(TOKEN)] }] as never;
    expect(() => parseAllowedTargets(targets)).toThrow(InvalidAllowedTargetError);
  });
});
