import { Common, Hardfork, Mainnet } from "@ethereumjs/common";
import { createTxFromRLP } from "@ethereumjs/tx";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byUser, eip1559, eip2930, legacy, TOKEN, TRANSFER } from "../../test/support/fixtures.js";
import { bytesToHex } from "../encoding/hex.js";
import { intrinsicGas } from "./intrinsicGas.js";
import type { UnsignedTransaction } from "./SignedTransaction.js";

const withData = (...bytes: number[]) => legacy({ data: Uint8Array.from(bytes) });
const key = (byte: number) => new Uint8Array(32).fill(byte);

describe("intrinsicGas", () => {
  it.each<[string, UnsignedTransaction, bigint]>([
    ["a call without calldata costs 21,000", withData(), 21_000n],
    ["a zero byte costs 10 (EIP-7623: the floor of one token)", withData(0), 21_010n],
    ["another byte costs 40 (the floor of four tokens)", withData(1), 21_040n],
    ["a transfer costs its floor", legacy({ data: TRANSFER }), 21_000n + 10n * (43n + 4n * 25n)],
    [
      "an address of an access list costs 2,400",
      eip2930({ data: key(0).subarray(32), accessList: [{ address: TOKEN, storageKeys: [] }] }),
      23_400n,
    ],
    [
      "a storage key costs 1,900",
      eip1559({ data: key(0).subarray(32), accessList: [{ address: TOKEN, storageKeys: [key(1), key(1)] }] }),
      27_200n,
    ],
    ["a creation costs 32,000 more", legacy({ to: undefined, data: key(0).subarray(32) }), 53_000n],
    [
      "a creation costs 2 for each word of its code",
      legacy({ to: undefined, data: new Uint8Array(33) }),
      53_000n + 33n * 4n + 4n,
    ],
  ])("%s", (_, tx, gas) => {
    expect(intrinsicGas(tx)).toBe(gas);
  });

  it("is the floor where calldata outweighs the access list, and the sum where it does not", () => {
    const accessList = [{ address: TOKEN, storageKeys: [] }];
    // One list entry costs 2,400, which 400 tokens make up for: 10 · 400 = 4 · 400 + 2,400.
    const at = (tokens: number) => intrinsicGas(eip2930({ data: new Uint8Array(tokens), accessList }));
    expect(at(399)).toBe(21_000n + 4n * 399n + 2_400n);
    expect(at(400)).toBe(25_000n);
    expect(at(401)).toBe(21_000n + 10n * 401n);
  });

  it("agrees with EthereumJS on any calldata and access list", () => {
    const chain = { ...Mainnet, chainId: 2201, name: "test" };
    const common = new Common({ chain, hardfork: Hardfork.Prague });
    const accessList = fc.array(
      fc
        .nat({ max: 3 })
        .map((keys) => ({ address: TOKEN, storageKeys: Array.from({ length: keys }, (_, i) => key(i)) })),
      { maxLength: 3 },
    );
    const data = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ max: 1, maxLength: 900 }));
    const to = fc.option(fc.constant(TOKEN), { nil: undefined });
    const tx = fc.oneof(
      fc.record({ data, to }).map(legacy),
      fc.record({ data, to, accessList }).map(eip2930),
      fc.record({ data, to, accessList }).map(eip1559),
    );
    fc.assert(
      fc.property(tx, (fields) => {
        const unsigned = { ...fields, gasLimit: 2_000_000n };
        const theirs = createTxFromRLP(byUser(unsigned).raw, { common });
        expect(intrinsicGas(unsigned), bytesToHex(unsigned.data)).toBe(theirs.getMinimumGasLimit());
      }),
      { numRuns: 300 },
    );
  });
});
