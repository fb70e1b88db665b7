import { blockCall, toQuantity } from "../chain/client/calls.js";
import { isObject, nodeErrorIn, resultIn } from "../chain/rpc/rpc.js";
import { type Finding, notProven, ok, refuses } from "./finding.js";
import { blockIn, type ProbedBlock, type ProbedNode, quantityIn } from "./probedNode.js";

/** A transaction of a block, found by its hash. */
export interface FoundTransaction {
  readonly from: string;
  readonly nonce: bigint;
  readonly blockNumber: bigint;
}

export interface Lookups {
  readonly finding: Finding;
  readonly found: FoundTransaction | undefined;
}

/** Blocks that are searched for a transaction, in requests that grow: the first block of a busy chain has one. */
const BLOCKS_A_REQUEST = [1, 7, 32, 60, 60] as const;
/** An index may be late by so much before it counts as off. CometBFT's has been seen late by half a minute. */
const LATE_SECONDS = 60;
const METHOD_NOT_FOUND = -32_601;

/** Takes transactions from recent blocks, and looks for each by its hash until one is found. */
export async function checkLookups(node: ProbedNode, head: ProbedBlock | undefined): Promise<Lookups> {
  if (head === undefined) return { finding: noTransaction(0), found: undefined };
  let end = head.number;
  let searched = 0;
  let missing: Missing | undefined;
  for (const size of BLOCKS_A_REQUEST) {
    const count = Math.min(size, Number(end) + 1);
    const heights = Array.from({ length: count }, (_, i) => end - BigInt(i));
    const outcomes = count === 0 ? [] : await node.rpc.read(heights.map(blockCall));
    for (const block of outcomes.map(blockIn)) {
      if (block === undefined) continue;
      searched++;
      const [hash] = block.transactions;
      if (hash === undefined) continue;
      const lookup = await lookUp(node, hash);
      if ("found" in lookup) {
        return {
          finding: ok("lookups", `transaction and receipt found, of block ${block.number}`),
          ...lookup,
        };
      }
      missing = { block, ...lookup };
      if (isConclusive(missing, head)) return { finding: notFound(missing, true), found: undefined };
    }
    end -= BigInt(count);
  }
  return { finding: missing ? notFound(missing, false) : noTransaction(searched), found: undefined };
}

/** A transaction that is in a block and was not found. */
interface Missing {
  readonly block: ProbedBlock;
  /** The lookup that failed, and how. */
  readonly problem: string;
  /** The node does not have such a method. */
  readonly isUnsupported: boolean;
}

async function lookUp(
  { rpc }: ProbedNode,
  hash: string,
): Promise<{ readonly found: FoundTransaction | undefined } | Omit<Missing, "block">> {
  const methods = ["eth_getTransactionByHash", "eth_getTransactionReceipt"];
  const outcomes = await rpc.read(methods.map((method) => ({ method, params: [hash] })));
  const place = outcomes.findIndex((outcome) => !isObject(resultIn(outcome)));
  if (place < 0) return { found: transactionIn(resultIn(outcomes[0])) };
  const outcome = outcomes[place];
  const error = nodeErrorIn(outcome);
  const answer =
    outcome && "error" in outcome ? outcome.error.message : `null, although a block has it: ${hash}`;
  const isUnsupported = error?.code === METHOD_NOT_FOUND;
  return { problem: `${methods[place]} answers ${answer}`, isUnsupported };
}

function transactionIn(value: unknown): FoundTransaction | undefined {
  if (!isObject(value) || typeof value.from !== "string") return undefined;
  const [nonce, blockNumber] = [quantityIn(value.nonce), quantityIn(value.blockNumber)];
  if (nonce === undefined || blockNumber === undefined) return undefined;
  return { from: value.from, nonce, blockNumber };
}

function isConclusive({ block, isUnsupported }: Missing, head: ProbedBlock): boolean {
  if (isUnsupported) return true;
  if (block.timestamp === undefined || head.timestamp === undefined) return false;
  return head.timestamp - block.timestamp >= LATE_SECONDS;
}

function notFound({ block, problem }: Missing, isConclusive: boolean): Finding {
  const found = `${problem} (block ${toQuantity(block.number)})`;
  if (!isConclusive) {
    return notProven("lookups", {
      found,
      means: `the index is late, or off: no transaction that was looked up is older than ${LATE_SECONDS} s`,
      remedy: "check the node again in a minute",
      mayPass: true,
    });
  }
  return refuses("lookups", {
    found,
    means: "transactions cannot be found by hash, so the service would never learn what was executed",
    remedy:
      'turn the index of transactions on: CometBFT [tx_index] indexer = "kv" or [json-rpc] enable-indexer, geth --history.transactions 0',
  });
}

function noTransaction(searched: number): Finding {
  return notProven("lookups", {
    found: `no transaction in the ${searched} newest block(s)`,
    means: "whether the node finds transactions by hash could not be tried",
    remedy: "check the node again when the chain has had a transaction",
  });
}
