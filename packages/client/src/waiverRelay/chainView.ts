import type { Hex } from "@gas-waiver/protocol";
import { MalformedAnswerError } from "../errors.js";
import type { Counts, Ending, Entry } from "./entry.js";
import { type Ask, membersOf, type Nodes } from "./nodes.js";

/** The chain as one endpoint shows it at one moment. */
export interface ChainView {
  readonly head: number;
  readonly latest: Counts;
  /** The latest block that is final, and the counts in it. */
  readonly finalBlock: number;
  readonly final: Counts;
}

/** The most blocks that are searched at once. */
const MAX_SEARCHED = 100;

/**
 * Reads the counts of the waiver and of all senders at one block, so that they contradict each other in nothing.
 * @param reorgDepth the blocks on top of a final one.
 */
export async function viewOf(
  nodes: Nodes,
  waiver: Hex,
  senders: readonly Hex[],
  reorgDepth: number,
): Promise<ChainView> {
  return await nodes.read(async (ask) => {
    const head = numberOf((await ask([{ method: "eth_blockNumber", params: [] }]))[0]);
    const finalBlock = Math.max(0, head - reorgDepth);
    const latest = await countsAt(ask, head, waiver, senders);
    const final = finalBlock === head ? latest : await countsAt(ask, finalBlock, waiver, senders);
    return { head, latest, finalBlock, final };
  });
}

async function countsAt(ask: Ask, block: number, waiver: Hex, senders: readonly Hex[]): Promise<Counts> {
  const params = (address: Hex) => [address, `0x${block.toString(16)}`];
  const counts = await ask(
    [waiver, ...senders].map((one) => ({ method: "eth_getTransactionCount", params: params(one) })),
  );
  const [ofWaiver = 0, ...ofSenders] = counts.map(numberOf);
  return {
    waiver: BigInt(ofWaiver),
    senders: new Map(senders.map((sender, i) => [sender, BigInt(ofSenders[i] ?? 0)])),
  };
}

/**
 * Finds how entries ended whose senders' nonces are used in the final block: by their receipts, or by their absence from each
 * block since they were accepted. An entry for which neither is there yet has no ending.
 */
export async function endingsOf(
  nodes: Nodes,
  entries: readonly Entry[],
  finalBlock: number,
): Promise<ReadonlyMap<Entry, Ending>> {
  const endings = new Map<Entry, Ending>();
  if (entries.length === 0) return endings;
  await nodes.read(async (ask) => {
    const calls = entries.map(({ hash }) => ({ method: "eth_getTransactionReceipt", params: [hash] }));
    for (const [i, receipt] of (await ask(calls)).entries()) {
      const entry = entries[i];
      const { blockNumber, status } = membersOf(receipt);
      if (entry === undefined || typeof blockNumber !== "string" || typeof status !== "string") continue;
      if (numberOf(blockNumber) <= finalBlock)
        endings.set(entry, { kind: "included", reverted: numberOf(status) === 0 });
    }
    const missing = entries.filter((entry) => !endings.has(entry));
    if (missing.length > 0) await search(ask, missing, finalBlock, endings);
  });
  return endings;
}

/** Looks for transactions without a receipt in the blocks. Receipts of some nodes are seconds behind their blocks. */
async function search(
  ask: Ask,
  entries: readonly Entry[],
  finalBlock: number,
  endings: Map<Entry, Ending>,
): Promise<void> {
  const from = Math.min(...entries.map(({ searched = finalBlock }) => searched)) + 1;
  const count = Math.max(0, Math.min(finalBlock - from + 1, MAX_SEARCHED));
  const numbers = Array.from({ length: count }, (_, i) => from + i);
  const params = (number: number) => [`0x${number.toString(16)}`, false];
  const blocks = await ask(
    numbers.map((number) => ({ method: "eth_getBlockByNumber", params: params(number) })),
  );
  const hashes = new Set<unknown>();
  for (const block of blocks) {
    const { transactions } = membersOf(block);
    if (!Array.isArray(transactions))
      throw new MalformedAnswerError(200, "the node does not have a block below its head");
    for (const hash of transactions) hashes.add(hash);
  }
  const last = from + numbers.length - 1;
  for (const entry of entries) {
    // It is in the chain, and its receipt will come.
    if (hashes.has(entry.hash)) continue;
    const { searched = finalBlock } = entry;
    entry.searched = Math.max(searched, last);
    if (entry.searched >= finalBlock) endings.set(entry, { kind: "failed", failure: nonceUsed(entry) });
  }
}

function nonceUsed({ inner }: Entry) {
  const message = `nonce ${inner.nonce} of the sender was used by another transaction`;
  return {
    reason: "NONCE_TOO_LOW",
    message,
    values: { nonce: `${inner.nonce}`, expected: `${inner.nonce + 1n}` },
  };
}

function numberOf(quantity: unknown): number {
  if (typeof quantity === "string" && /^0x[0-9a-f]+$/i.test(quantity)) return Number(quantity);
  throw new MalformedAnswerError(200, "the node answered with no number");
}
