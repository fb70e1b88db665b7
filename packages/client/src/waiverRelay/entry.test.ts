import { hexToBytes, type InnerTx } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { Entry } from "./entry.js";

it("may have run once its withdrawn wrapper's nonce is used, until its sender's nonce says otherwise", () => {
  const bytes = hexToBytes("0xaa");
  const entry = new Entry({ tx: { raw: bytes, nonce: 3n } as InnerTx, hash: bytes, sender: bytes });
  entry.wrapper = { nonce: 5n, raw: "0x", hash: "0x", asked: 1, strikes: 0 };
  entry.withdraw(true);
  const countsOf = (waiver: bigint, sender: bigint) => ({
    waiver,
    senders: new Map([[entry.sender, sender]]),
  });
  expect(entry.isUnsent(countsOf(5n, 3n))).toBe(false);
  expect(entry.isUnsent(countsOf(6n, 4n))).toBe(false);
  expect(entry.isUnsent(countsOf(6n, 3n))).toBe(true);
});
