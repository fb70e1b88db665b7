import { createHash } from "node:crypto";

/** A stream of random draws. */
export interface Random {
  /** @returns a number from 0 to below 1. */
  next(): number;
  /** @returns a whole number from 0 to below `limit`. */
  integer(limit: number): number;
  /** @returns a number from `least` to below `most`. */
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly [T, ...T[]]): T;
  fill(bytes: Uint8Array): void;
}

/**
 * Opens the stream of a purpose, such as "behaviour 3". The streams of one seed are independent: where one is not drawn from, the
 * others stay as they are.
 */
export function stream(seed: number, purpose: string): Random {
  const start = createHash("sha256").update(`${seed} ${purpose}`).digest();
  const next = sfc32(
    start.readUInt32LE(0),
    start.readUInt32LE(4),
    start.readUInt32LE(8),
    start.readUInt32LE(12),
  );
  const integer = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    integer,
    between: (least, most) => least + next() * (most - least),
    chance: (probability) => next() < probability,
    pick: (list) => list[integer(list.length)] ?? list[0],
    fill(bytes) {
      for (let i = 0; i < bytes.length; i++) bytes[i] = integer(256);
    },
  };
}

/** The generator sfc32 of the PractRand test suite. */
function sfc32(first: number, second: number, third: number, counter: number): () => number {
  let [a, b, c, count] = [first, second, third, counter];
  return () => {
    const sum = (((a + b) | 0) + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
}
