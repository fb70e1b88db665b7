import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { estimateBits, weaknessOfKey } from "./keyStrength.js";

describe("an API key from a file or a variable", () => {
  it.each([
    ["openssl rand -hex 16", () => randomBytes(16).toString("hex")],
    ["openssl rand -base64 24", () => randomBytes(24).toString("base64")],
    ["openssl rand -hex 32", () => randomBytes(32).toString("hex")],
  ])("is good enough as %s makes it", (_, make) => {
    for (let i = 0; i < 2_000; i++) {
      const key = make();
      expect(weaknessOfKey(key), key).toBeUndefined();
    }
  });

  it.each([
    ["gw_dev_local", "has 12 characters; 32 random ones are needed"],
    [randomBytes(16).toString("hex").slice(1), "has 31 characters; 32 random ones are needed"],
    ["a".repeat(64), "has about 0 random bits"],
    ["0123456789abcdef".repeat(4), "repeats itself or counts up"],
    ["abcdefghijklmnopqrstuvwxyz0123456789", "repeats itself or counts up"],
    ["zyxwvutsrqponmlkjihgfedcba9876543210", "repeats itself or counts up"],
    ["changeme".repeat(4), "repeats itself or counts up"],
    [`gw_live_${"0".repeat(40)}1`, "repeats itself or counts up"],
    ["x y".padEnd(40, "q7"), "is not 32 to 256 printable characters without spaces"],
    ["é".padEnd(40, "q7"), "is not 32 to 256 printable characters without spaces"],
    [randomBytes(129).toString("hex"), "is not 32 to 256 printable characters without spaces"],
  ])("is refused: %s", (key, weakness) => {
    expect(weaknessOfKey(key)).toContain(weakness);
    expect(weaknessOfKey(key)).not.toContain(key);
  });

  it("gets about 120 bits for 32 random hex digits", () => {
    const all = Array.from({ length: 500 }, () => estimateBits(randomBytes(16).toString("hex")));
    const mean = all.reduce((sum, bits) => sum + bits, 0) / all.length;
    expect(mean).toBeGreaterThan(100);
    expect(mean).toBeLessThan(125);
    expect(Math.min(...all)).toBeGreaterThan(80);
  });
});
