// Measures the work of the event loop that needs no service: checks of transactions, and JSON in slices. Prints JSON: µs by price.
import { createHash } from "node:crypto";
import { TEST_TOKEN } from "../../packages/devnet/dist/presets/index.js";
import { compilePolicy, hexToBytes } from "../../packages/protocol/dist/index.js";
import { validateTransaction } from "../../packages/server/dist/policy/validateTransaction.js";
import { parseInSlices } from "../../packages/server/dist/util/slicedJson.js";
import { median } from "../median.mjs";
import { CHAIN_ID } from "../service/shape.mjs";
import { signed } from "../signed.mjs";

const ROUNDS = 9;
const HASHED_TIMES = 10;
const RULES = {
  chainId: BigInt(CHAIN_ID),
  maxGasLimit: 30_000_000n,
  maxDataLength: 200_000,
  maxWrapperBytes: 1_000_000,
  policy: compilePolicy([{ address: TEST_TOKEN, selectors: [hexToBytes("0x095ea7b3")] }]),
  policyName: "the policy",
};

/** Processor time, which other programs on the machine do not lengthen. */
function microseconds() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The µs of a transaction's check; each is new, so that no cache knows it. */
function checkOf(texts) {
  const startedAt = microseconds();
  for (const text of texts) {
    const { error } = validateTransaction(text, RULES);
    if (error) throw error;
  }
  return (microseconds() - startedAt) / texts.length;
}

async function parsedByteOf(text) {
  const bytes = Buffer.from(text);
  let asked = 0;
  const startedAt = microseconds();
  await parseInSlices(bytes, async (size, slice) => {
    asked += size;
    return slice();
  });
  return (microseconds() - startedAt) / asked;
}

function hashedByteOf(texts) {
  const hash = createHash("sha256");
  const startedAt = microseconds();
  for (let i = 0; i < HASHED_TIMES; i++) for (const text of texts) hash.update(text);
  return (microseconds() - startedAt) / (HASHED_TIMES * texts.length * texts[0].length);
}

const large = { length: 100_000, gasLimit: 29_000_000n };
const rounds = { check: [], checkedByte: [], parsedByte: [], parsedText: [], hashedByte: [] };
const manyValues = JSON.stringify(Array.from({ length: 80_000 }, (_, i) => ({ id: i, ok: true })));
for (let round = 0; round < ROUNDS; round++) {
  const small = Array.from({ length: 400 }, (_, i) => signed(round * 1_000 + i));
  const big = Array.from({ length: 10 }, (_, i) => signed(round * 1_000 + 500 + i, large));
  const check = checkOf(small);
  rounds.check.push(check);
  rounds.checkedByte.push((checkOf(big) - check) / (big[0].length - small[0].length));
  rounds.hashedByte.push(hashedByteOf(big));
  rounds.parsedByte.push(await parsedByteOf(manyValues));
  rounds.parsedText.push(await parsedByteOf(JSON.stringify(big)));
}
const medians = Object.fromEntries(Object.entries(rounds).map(([name, all]) => [name, median(all)]));
// A slice is charged alike, whatever is in it.
const { parsedText, ...measured } = medians;
process.stdout.write(JSON.stringify({ ...measured, parsedByte: Math.max(measured.parsedByte, parsedText) }));
