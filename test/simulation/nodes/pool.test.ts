import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { geth } from "../../nodeZoo/gethNodes.js";
import { type Block, extend, genesisBlock } from "../chain/block.js";
import { hashOfText, type Wrapper } from "../chain/wrapper.js";
import { Pool, type PoolKind } from "./pool.js";

const WAIVER = bytesToHex(new Uint8Array(20).fill(1));

/** A wrapper of a sender's first transaction. */
function wrapperOf(name: string, nonce: bigint): Wrapper {
  const hash = hashOfText(`wrapper ${name}`);
  const sender = hashOfText(name).slice(0, 42) as Hex;
  return {
    hash,
    waiver: WAIVER,
    nonce,
    innerRaw: "0x",
    innerHash: hashOfText(name),
    sender,
    senderNonce: 0n,
  };
}

const first = wrapperOf("first", 0n);
const rival = wrapperOf("rival", 0n);
const second = wrapperOf("second", 1n);
const third = wrapperOf("third", 2n);
const genesis = genesisBlock(0, [WAIVER]);
const withBlock = (...wrappers: Wrapper[]): Block =>
  extend(genesis, { others: [], wrappers, timestamp: 1, salt: "" });

/** Adds the wrappers, and returns what the pool said to each. */
function answers(pool: Pool, ...wrappers: Wrapper[]): string[] {
  return wrappers.map((wrapper) => {
    try {
      pool.add(wrapper, genesis);
      return "taken";
    } catch (error) {
      return (error as Error).message;
    }
  });
}

const poolOf = (kind: PoolKind) => new Pool(kind, geth);

describe("a pool", () => {
  it("that is strict takes the next nonce only", () => {
    const [gap, taken, next] = answers(poolOf("strict"), second, first, second);
    expect([gap?.startsWith("nonce too high"), taken, next]).toEqual([true, "taken", "taken"]);
  });

  it("that keeps refuses a second wrapper under a nonce, and holds later nonces", () => {
    const pool = poolOf("keeps");
    expect(answers(pool, second, first, rival)).toEqual([
      "taken",
      "taken",
      "replacement transaction underpriced",
    ]);
    expect(pool.has(first.hash)).toBe(true);
  });

  it("that replaces holds the second of two wrappers under a nonce", () => {
    const pool = poolOf("replaces");
    expect(answers(pool, first, rival)).toEqual(["taken", "taken"]);
    expect([pool.has(first.hash), pool.has(rival.hash)]).toEqual([false, true]);
  });

  it("says so of bytes that it has", () => {
    expect(answers(poolOf("keeps"), first, first)).toEqual(["taken", "already known"]);
  });

  it("drops after a block what is in it, and what can never run", () => {
    const pool = poolOf("keeps");
    answers(pool, first, second);
    pool.onBlock(withBlock(rival));
    expect(pool.wrappers).toEqual([second]);
  });

  it("that is strict drops everything behind a wrapper that has gone", () => {
    const pool = poolOf("strict");
    answers(pool, first, second, third);
    pool.remove(second.hash);
    pool.onBlock(withBlock(first));
    expect(pool.wrappers).toEqual([]);
  });
});
