import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Transaction } from "ethers";
import { type Hex, keccak256, parseTransaction, recoverTransactionAddress } from "viem";
import { describe, expect, it } from "vitest";
import type { VectorCase } from "./case.js";
import { CHECKS } from "./cases/order.js";
import { generate, serialize } from "./generate.js";
import { signedBytesOf } from "./transaction.js";

const folder = join(import.meta.dirname, "../../packages/protocol/vectors");
const { cases } = generate();
const valid = cases.flatMap(({ name, wrapper, expect: expected, service }) =>
  expected.verdict === "included" && service !== undefined ? [{ name, wrapper, expected, service }] : [],
);

describe("the vector file", () => {
  // `npm run vectors` writes it.
  it("equals the output of the generator", async () => {
    await expect(serialize(generate())).toMatchFileSnapshot(join(folder, "wrappers.json"));
  });

  it("has at least 150 cases, with unique names and unique bytes in each state", () => {
    expect(cases.length).toBeGreaterThanOrEqual(150);
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    const inputs = cases.map(({ registry, accounts, wrapper }) =>
      JSON.stringify([registry, accounts, wrapper]),
    );
    expect(inputs.filter((input, i) => inputs.indexOf(input) !== i)).toEqual([]);
  });

  it("has a case for every check of D7, and for every pair of checks", () => {
    const documented = readFileSync(join(import.meta.dirname, "../../docs/protocol.md"), "utf8");
    const checks = [...documented.matchAll(/^\| \d+ \| `([^`]+)`/gm)].map(([, name = ""]) => name);
    expect(checks).toEqual(CHECKS);
    const names = new Set(cases.map(({ name }) => name));
    const pairs = checks.flatMap((one, i) => checks.slice(i + 1).map((two) => `${one} before ${two}`));
    expect(pairs.filter((pair) => !names.has(pair))).toEqual([]);
    expect([...new Set(cases.flatMap(checkOf))].sort()).toEqual([...checks].sort());
  });

  it.each(valid)("$name: viem and ethers agree on hashes, signers and fields", async (one) => {
    const data = parseTransaction(one.wrapper as Hex).data ?? "0x";
    expect(data).toBe(one.service.transaction);
    const inner = signedBytesOf(data);
    for (const [bytes, from, hash] of [
      [one.wrapper, one.expected.waiver, one.expected.wrapperHash],
      [inner, one.expected.sender, one.expected.innerHash],
    ] as const) {
      expect(keccak256(bytes as Hex)).toBe(hash);
      const serializedTransaction = bytes as Parameters<
        typeof recoverTransactionAddress
      >[0]["serializedTransaction"];
      expect((await recoverTransactionAddress({ serializedTransaction })).toLowerCase()).toBe(from);
      const parsed = Transaction.from(bytes);
      expect([parsed.from?.toLowerCase(), parsed.hash, parsed.serialized]).toEqual([from, hash, bytes]);
    }
  });

  it("has a README that names every field", () => {
    const readme = readFileSync(join(folder, "README.md"), "utf8");
    const fields = new Set<string>();
    const collect = (value: unknown) => {
      if (Array.isArray(value)) value.forEach(collect);
      else if (typeof value === "object" && value !== null) {
        for (const [key, child] of Object.entries(value)) {
          if (!key.startsWith("0x")) fields.add(key);
          collect(child);
        }
      }
    };
    collect(generate());
    expect([...fields].filter((field) => !readme.includes(`\`${field}\``))).toEqual([]);
  });
});

function checkOf({ expect: expected }: VectorCase): string[] {
  return expected.verdict === "refused" ? [expected.check] : [];
}
