import { hexToBytes, ProtocolError } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { changeTerms, type KeyTerms, parseTerms, termsToJson } from "./keyTerms.js";

const TOKEN = "0x78cf24370174180738c5b8e352b6d14c83a6c9a9";
const ALL = {
  limits: {
    ratePerSecond: 5,
    rateBurst: 20,
    queueShare: 0.25,
    maxBatchSize: 20,
    maxBodyBytes: 65_536,
    maxGasLimit: "300000",
    maxDataLength: 68,
  },
  allowedTargets: [{ address: TOKEN, selectors: ["0xa9059cbb"] }, { address: "*" }],
  caps: { transactions: 1_000, gas: "99999999999", senderTransactions: 0, senderGas: "500000" },
} as const;

function refusal(run: () => unknown): ProtocolError {
  try {
    run();
  } catch (error) {
    if (error instanceof ProtocolError) return error;
  }
  throw new Error("nothing was refused");
}

describe("the terms of a key", () => {
  it("convert from JSON and back without a change", () => {
    const terms = parseTerms(ALL);
    expect(terms.limits.maxGasLimit).toBe(300_000n);
    expect(terms.caps.gas).toBe(99_999_999_999n);
    expect(terms.allowedTargets?.[0]?.address).toEqual(hexToBytes(TOKEN));
    expect(termsToJson(terms)).toEqual(ALL);
    expect(termsToJson(parseTerms({}))).toEqual({});
  });

  it("tell no scope apart from a scope that permits nothing", () => {
    expect(parseTerms({}).allowedTargets).toBeUndefined();
    expect(parseTerms({ allowedTargets: [] }).allowedTargets).toEqual([]);
    expect(termsToJson(parseTerms({ allowedTargets: [] }))).toEqual({ allowedTargets: [] });
  });

  it.each([
    [[], "the set of terms is an array"],
    [{ limits: 5 }, "limits is the number 5, not an object"],
    [{ rate: 5 }, "rate is not a known setting"],
    [{ limits: { rate: 5 } }, "limits.rate is not a known setting"],
    [{ limits: { constructor: 5 } }, "limits.constructor is not a known setting"],
    [{ limits: { ratePerSecond: 0 } }, "limits.ratePerSecond is the number 0"],
    [{ limits: { ratePerSecond: 1.5 } }, "limits.ratePerSecond is the number 1.5"],
    [{ limits: { ratePerSecond: "5" } }, 'limits.ratePerSecond is "5"'],
    [{ limits: { queueShare: 0 } }, "limits.queueShare"],
    [{ limits: { queueShare: 1.1 } }, "limits.queueShare"],
    [{ limits: { maxGasLimit: 20_999 } }, "limits.maxGasLimit"],
    [{ limits: { maxBatchSize: 10, rateBurst: 9 } }, "limits.rateBurst is 9"],
    [{ caps: { gas: "-1" } }, 'caps.gas is "-1"'],
    [{ caps: { gas: "1".repeat(19) } }, "caps.gas"],
    [{ caps: { transactions: -1 } }, "caps.transactions"],
    [{ allowedTargets: [{ address: "*", selectors: [] }] }, "are an empty list"],
    [{ allowedTargets: [{ address: "0x12" }] }, "the address of allowed target 0"],
  ])("are refused as %j, and the message says where the problem is", (input, message) => {
    const error = refusal(() => parseTerms(input));
    expect(error).toMatchObject({ code: "INVALID_REQUEST", reason: "INVALID_KEY_TERMS" });
    expect(error.message).toContain(message);
  });

  it("are refused with every problem at once", () => {
    const error = refusal(() => parseTerms({ limits: { rateBurst: 0 }, caps: { gas: null }, more: 1 }));
    for (const name of ["limits.rateBurst", "caps.gas", "more"]) expect(error.message).toContain(name);
  });
});

describe("a change of terms", () => {
  const before: KeyTerms = parseTerms(ALL);
  const after = (change: unknown) => termsToJson(changeTerms(before, change));

  it("keeps the members that it does not name", () => {
    expect(after({})).toEqual(ALL);
    expect(after({ limits: { ratePerSecond: 7 }, caps: { gas: 1 } })).toEqual({
      ...ALL,
      limits: { ...ALL.limits, ratePerSecond: 7 },
      caps: { ...ALL.caps, gas: "1" },
    });
  });

  it("unsets a value, a group or the scope with null", () => {
    const { maxGasLimit: _, ...limits } = ALL.limits;
    expect(after({ limits: { maxGasLimit: null }, caps: null, allowedTargets: null })).toEqual({ limits });
  });

  it("replaces the whole scope", () => {
    expect(after({ allowedTargets: [{ address: "*" }] }).allowedTargets).toEqual([{ address: "*" }]);
  });

  it.each([[{ limits: { rateBurst: 10 } }], [{ limits: [] }], [{ label: 1 }]])(
    "is refused as %j",
    (change) => {
      expect(refusal(() => changeTerms(before, change)).reason).toBe("INVALID_KEY_TERMS");
    },
  );
});
