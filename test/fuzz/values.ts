import { bytesToHex, crypto, hexToBytes, signTransaction } from "@gas-waiver/protocol";
import type { SeededRandom } from "../support/seededRandom.js";
import { CHAIN_ID, TOKEN } from "../support/user.js";
import { KNOWN_ID } from "./probe.js";

/** A call of approve(address,uint256), which any account can make. */
const APPROVE = hexToBytes(`0x095ea7b3${"11".repeat(20).padStart(64, "0")}${"1".padStart(64, "0")}`);
const USERS = 2_000;

/** A signed InnerTx, valid or with some wrong fields. */
export function transaction(random: SeededRandom): string {
  const key = crypto.keccak256(Buffer.from(`user ${random.between(1, USERS)} of the fuzz`));
  const tx = {
    type: "legacy",
    chainId: random.chance(0.9) ? BigInt(CHAIN_ID) : BigInt(random.between(0, 2 ** 32)),
    nonce: random.chance(0.8) ? 0n : 2n ** BigInt(random.between(0, 63)),
    gasPrice: random.chance(0.9) ? 0n : 1n,
    gasLimit: random.chance(0.8) ? 100_000n : 2n ** BigInt(random.between(0, 63)),
    to: random.chance(0.9) ? hexToBytes(TOKEN.toLowerCase()) : undefined,
    value: random.chance(0.9) ? 0n : 2n ** BigInt(random.between(0, 255)),
    data: random.chance(0.9) ? APPROVE : new Uint8Array(random.between(0, 2_000)),
  } as const;
  const raw = bytesToHex(signTransaction(tx, key).raw) as string;
  if (random.chance(0.7)) return raw;
  return mutated(Buffer.from(raw), random).toString("latin1");
}

const TEXTS = [
  "",
  "0x",
  "0x0",
  "0xzz",
  "\u0000",
  "\ud800",
  "é".repeat(300),
  "%s",
  "null",
  "'",
  '"',
  "\\",
  KNOWN_ID,
];
const NUMBERS = ["0", "-0", "1e400", "1e-400", "9007199254740993", "-1", "0.1", "9".repeat(400), "1E+2"];
const NAMES = [
  "id",
  "transactions",
  "wait",
  "watch",
  "__proto__",
  "constructor",
  "toString",
  "length",
  "",
  "a",
];

export function text(random: SeededRandom): string {
  if (random.chance(0.5)) return random.pick(TEXTS);
  return String.fromCharCode(
    ...Array.from({ length: random.between(0, 40) }, () => random.between(0, 0x2ff)),
  );
}

/** Well-formed JSON text. It may have repeated members, and numbers that no type can hold. */
export function json(random: SeededRandom, depth = 4): string {
  switch (random.between(0, depth > 0 ? 7 : 4)) {
    case 0:
      return random.pick(["null", "true", "false"]);
    case 1:
      return random.pick(NUMBERS);
    case 2:
      return JSON.stringify(text(random));
    case 3:
      return JSON.stringify(transaction(random));
    case 4:
      return random.pick(['"\\ud800"', '"\\u0000"', '"\\udfff\\ud800"', "[[[[]]]]"]);
    case 5:
      return `[${list(random, () => json(random, depth - 1))}]`;
    default:
      return `{${list(random, () => `${JSON.stringify(random.pick(NAMES))}:${json(random, depth - 1)}`)}}`;
  }
}

function list(random: SeededRandom, item: () => string): string {
  const length = random.chance(0.02) ? random.between(90, 120) : random.between(0, 4);
  return Array.from({ length }, item).join(",");
}

/** The body of a submit request, or other JSON. */
export function body(random: SeededRandom): string {
  if (random.chance(0.15)) return json(random, 3);
  const item = () => (random.chance(0.8) ? JSON.stringify(transaction(random)) : json(random, 2));
  const members = [`"transactions":[${list(random, item)}]`];
  if (random.chance(0.2)) members.push(`${JSON.stringify(random.pick(NAMES))}:${json(random, 3)}`);
  return `{${random.shuffled(members).join(",")}}`;
}

/** The bytes with some parts removed, repeated, moved or inserted. */
export function mutated(bytes: Buffer, random: SeededRandom): Buffer {
  let result = Buffer.from(bytes);
  for (let i = random.between(1, 4); i > 0 && result.length > 0; i--) {
    const from = random.between(0, result.length - 1);
    const to = Math.min(result.length, from + random.between(1, 32));
    const [before, part, after] = [result.subarray(0, from), result.subarray(from, to), result.subarray(to)];
    const inserted = Buffer.from(Array.from({ length: random.between(1, 8) }, () => random.between(0, 255)));
    result = Buffer.concat(
      random.pick([
        [before, inserted, after],
        [before, after],
        [before, part, part, after],
        [before, inserted, part, after],
        [part, before, after],
        [before],
      ]),
    );
  }
  return result;
}

/** Splits the bytes into one or more pieces. */
export function inPieces(bytes: Buffer, random: SeededRandom): Buffer[] {
  if (random.chance(0.7)) return [bytes];
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = pieces.length < 8 ? random.between(1, Math.max(1, bytes.length >> 2)) : bytes.length;
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}
