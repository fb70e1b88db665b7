import { describe, expect, it } from "vitest";
import { WireError } from "../wireError.js";
import { parseHealth } from "./health.js";

describe("parseHealth (D24)", () => {
  it("reads status, version and chain id", () => {
    const health = { status: "ok", version: "1.0.0", chainId: 2201 } as const;
    expect(parseHealth({ ...health, newer: true })).toEqual(health);
  });

  it.each([
    [undefined],
    [{}],
    [{ status: "down", version: "1", chainId: 1 }],
    [{ status: "ok", version: 1, chainId: 1 }],
    [{ status: "ok", version: "1", chainId: "1" }],
  ])("refuses %j", (value) => {
    expect(() => parseHealth(value)).toThrow(WireError);
  });
});
