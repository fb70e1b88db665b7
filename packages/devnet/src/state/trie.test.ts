import { createMPT } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import { bytesToHex } from "@gas-waiver/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EMPTY_ROOT, listRoot, Trie } from "./trie.js";

// The few different bytes make keys share prefixes, and removals collapse branches.
const byte = fc.constantFrom(0x00, 0x01, 0x10, 0x11, 0xff);
const key = fc.array(byte, { minLength: 3, maxLength: 3 }).map((bytes) => Uint8Array.from(bytes));
const value = fc.oneof(
  fc.constant(new Uint8Array(0)),
  fc.uint8Array({ minLength: 1, maxLength: 3 }),
  fc.uint8Array({ minLength: 33, maxLength: 40 }),
);

describe("the trie", () => {
  it("has the root that EthereumJS computes, after any puts and removals", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(key, value), { maxLength: 60 }), async (writes) => {
        const ours = new Trie();
        const theirs = await createMPT();
        for (const [entryKey, entryValue] of writes) {
          ours.put(entryKey, entryValue);
          if (entryValue.length === 0) await theirs.del(entryKey);
          else await theirs.put(entryKey, entryValue);
        }
        expect(ours.root()).toBe(bytesToHex(theirs.root()));
      }),
      { numRuns: 200 },
    );
  });

  it("computes a node's reference again after a change below the node", () => {
    const grown = new Trie();
    const fresh = new Trie();
    for (let i = 0; i < 100; i++) {
      grown.put(Uint8Array.of(i, i), Uint8Array.of(1));
      grown.root();
    }
    for (let i = 0; i < 100; i++) fresh.put(Uint8Array.of(i, i), Uint8Array.of(1));
    expect(grown.root()).toBe(fresh.root());
    for (let i = 0; i < 100; i++) grown.put(Uint8Array.of(i, i), new Uint8Array(0));
    expect(grown.root()).toBe(EMPTY_ROOT);
  });

  it("makes the root of a list from the RLP of its indices", async () => {
    const items = Array.from({ length: 300 }, (_, i) => Uint8Array.of(1, i & 255, i >> 8));
    const theirs = await createMPT();
    for (const [i, item] of items.entries()) await theirs.put(RLP.encode(i), item);
    expect(listRoot(items)).toBe(bytesToHex(theirs.root()));
    expect(listRoot([])).toBe(EMPTY_ROOT);
  });
});
