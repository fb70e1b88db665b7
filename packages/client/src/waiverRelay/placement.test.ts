import { parseInnerTx, recoverSender } from "@gas-waiver/protocol";
import { Wallet } from "ethers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Entry } from "./entry.js";
import { placementOf } from "./placement.js";

const WALLETS = ["1", "2", "3"].map((digit) => new Wallet(`0x${digit.repeat(64)}`));
const SENDERS = WALLETS.map(({ address }) => address.toLowerCase() as `0x${string}`);
const MAX_NONCE = 8;

/** The transactions of each sender, by their nonces. */
const SIGNED = await Promise.all(
  WALLETS.map((wallet) =>
    Promise.all(
      Array.from({ length: MAX_NONCE }, async (_, nonce) => {
        const call = {
          type: 0,
          chainId: 2201,
          gasPrice: 0,
          gasLimit: 60_000,
          to: `0x${"33".repeat(20)}`,
          nonce,
        };
        const tx = parseInnerTx(await wallet.signTransaction(call));
        return { tx, hash: tx.raw, sender: recoverSender(tx) };
      }),
    ),
  ),
);

interface Drawn {
  readonly sender: number;
  readonly nonce: number;
  readonly wrapper: number | undefined;
}

function entryOf({ sender, nonce, wrapper }: Drawn): Entry {
  const valid = SIGNED[sender]?.[nonce];
  if (valid === undefined) throw new Error("there is no such transaction");
  const entry = new Entry(valid);
  if (wrapper !== undefined)
    entry.wrapper = { nonce: BigInt(wrapper), raw: "0x", hash: "0x", asked: 1, strikes: 0 };
  return entry;
}

const drawn = fc.uniqueArray(
  fc.record({
    sender: fc.integer({ min: 0, max: SENDERS.length - 1 }),
    nonce: fc.integer({ min: 0, max: MAX_NONCE - 1 }),
    wrapper: fc.option(fc.integer({ min: 4, max: 14 }), { nil: undefined }),
  }),
  { selector: ({ sender, nonce }) => `${sender} ${nonce}`, maxLength: 16 },
);

/** Keeps the first of those with the same wrapper's nonce, as a relay never gives one twice. */
function withOwnNonces(entries: readonly Drawn[]): Drawn[] {
  const given = new Set<number>();
  return entries.map((one) => {
    const isTaken = one.wrapper !== undefined && given.has(one.wrapper);
    if (one.wrapper !== undefined) given.add(one.wrapper);
    return isTaken ? { ...one, wrapper: undefined } : one;
  });
}

describe("a placement", () => {
  it("lets everything run in the order of the waiver's nonces, and leaves no gap below what can run", () => {
    fc.assert(
      fc.property(drawn, fc.array(fc.nat(3), { minLength: 3, maxLength: 3 }), (all, counts) => {
        const entries = withOwnNonces(all).map(entryOf);
        const senders = new Map(SENDERS.map((sender, i) => [sender, BigInt(counts[i] ?? 0)]));
        const { placed, withdrawn } = placementOf(entries, { waiver: 5n, senders }, performance.now());
        const nonces = new Map(
          entries
            .filter((entry) => !withdrawn.includes(entry))
            .flatMap((entry) => (entry.wrapper ? [[entry, entry.wrapper.nonce] as const] : [])),
        );
        for (const { entry, nonce } of placed) nonces.set(entry, nonce);
        const inFlight = [...nonces].filter(([, nonce]) => nonce >= 5n).sort((a, b) => Number(a[1] - b[1]));
        // A waiver's nonce has one wrapper, and those in flight have the nonces from the next one upwards.
        expect(inFlight.map(([, nonce]) => nonce)).toEqual(inFlight.map((_, i) => 5n + BigInt(i)));
        for (const [entry] of inFlight) {
          expect(entry.inner.nonce).toBe(senders.get(entry.sender));
          senders.set(entry.sender, entry.inner.nonce + 1n);
        }
        // Nothing waits that could run.
        const waiting = entries.filter((entry) => !nonces.has(entry));
        expect(waiting.filter((entry) => senders.get(entry.sender) === entry.inner.nonce)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  it("keeps wrappers that can run where they are", () => {
    const entries = [0, 1, 2].map((nonce) => entryOf({ sender: 0, nonce, wrapper: 5 + nonce }));
    const senders = new Map(SENDERS.map((sender) => [sender, 0n]));
    expect(placementOf(entries, { waiver: 5n, senders }, 0)).toEqual({ placed: [], withdrawn: [] });
  });
});
