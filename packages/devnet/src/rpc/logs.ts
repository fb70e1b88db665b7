import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../chain/block.js";
import type { Chain } from "../chain/chain.js";
import { requireBlock } from "./blocks.js";
import { invalidParams } from "./errors.js";
import { type FormattedLog, formatLogs } from "./format.js";
import { address, hash, object, optional, show } from "./params.js";

/** Which logs are wanted. A position of `topics` that is undefined matches any topic. */
export interface LogFilter {
  readonly addresses: ReadonlySet<Hex> | undefined;
  readonly topics: readonly (ReadonlySet<Hex> | undefined)[];
}

/** eth_getLogs: a range of blocks, or one block by its hash. */
export function getLogs(chain: Chain, param: unknown): FormattedLog[] {
  const members = object(param, "the filter");
  const filter = readLogFilter(members);
  return blocksOf(chain, members).flatMap((block) => matchingLogs(block, filter));
}

export function readLogFilter(members: Readonly<Record<string, unknown>>): LogFilter {
  const { topics } = members;
  if (topics !== undefined && topics !== null && !Array.isArray(topics)) {
    throw invalidParams(`topics is ${show(topics)}, not a list`);
  }
  if (Array.isArray(topics) && topics.length > 4) {
    throw invalidParams(`topics has ${topics.length} positions; a log has at most 4`);
  }
  return {
    addresses: optional(members.address, undefined, (value) =>
      oneOrMany(value, (item) => bytesToHex(address(item))),
    ),
    topics: (Array.isArray(topics) ? topics : []).map((position: unknown) =>
      optional(position, undefined, (value) => oneOrMany(value, (item) => hash(item, "a topic"))),
    ),
  };
}

function oneOrMany(value: unknown, read: (item: unknown) => Hex): ReadonlySet<Hex> | undefined {
  if (!Array.isArray(value)) return new Set([read(value)]);
  // An empty list of alternatives means no restriction, as in geth.
  return value.length === 0 ? undefined : new Set(value.map(read));
}

function blocksOf(chain: Chain, members: Readonly<Record<string, unknown>>): SealedBlock[] {
  const { blockHash, fromBlock, toBlock } = members;
  if (blockHash !== undefined && blockHash !== null) {
    if (fromBlock !== undefined || toBlock !== undefined) {
      throw invalidParams("blockHash cannot be combined with fromBlock or toBlock");
    }
    return [requireBlock(chain, { blockHash })];
  }
  const first = rangeEnd(chain, fromBlock);
  const last = Math.min(rangeEnd(chain, toBlock), chain.head.number);
  if (fromBlock !== undefined && toBlock !== undefined && first > last && first <= chain.head.number) {
    throw invalidParams(`fromBlock ${first} is after toBlock ${last}`);
  }
  const blocks: SealedBlock[] = [];
  for (let number = first; number <= last; number++) {
    const block = chain.ledger.byNumber(number);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/** A range may reach beyond the latest block: what is not there yet has no logs. */
function rangeEnd(chain: Chain, tag: unknown): number {
  if (typeof tag === "string" && /^0x[0-9a-fA-F]{1,13}$/.test(tag)) return Number(tag);
  return requireBlock(chain, tag).number;
}

export function matchingLogs(block: SealedBlock, filter: LogFilter): FormattedLog[] {
  return block.transactions.flatMap((included, index) =>
    formatLogs(block, index, included).filter((log) => matches(log, filter)),
  );
}

function matches(log: FormattedLog, { addresses, topics }: LogFilter): boolean {
  if (addresses !== undefined && !addresses.has(log.address)) return false;
  return topics.every((allowed, i) => {
    const topic = log.topics[i];
    return topic !== undefined && (allowed === undefined || allowed.has(topic));
  });
}
