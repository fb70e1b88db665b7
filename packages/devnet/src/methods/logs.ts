import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import { bloomBits, mayHold } from "../block/bloom.js";
import type { IncludedTransaction } from "../block/included.js";
import type { Chain } from "../chain/chain.js";
import type { Log } from "../evm/executor.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import { address, hash, type Members, object, optional, shortJson } from "../rpc/params.js";
import { requireBlock } from "./findBlock.js";
import { type FormattedLog, formatLog } from "./format.js";

/** Selects logs. An undefined position of `topics` matches any topic. */
export interface LogFilter {
  readonly addresses: ReadonlySet<Hex> | undefined;
  readonly topics: readonly (ReadonlySet<Hex> | undefined)[];
}

/** A filter on a range of blocks, both ends included. */
export interface LogQuery extends LogFilter {
  readonly first: number;
  readonly last: number;
}

/** The most logs in one answer. 100,000 logs are 50 MB of JSON. */
export const MAX_LOGS = 100_000;
const MAX_ALTERNATIVES = 10_000;

/** Serves eth_getLogs: the logs of a range of blocks, or of one block by its hash. */
export function getLogs(chain: Chain, param: unknown): FormattedLog[] {
  return logsIn(chain, readLogQuery(chain, param));
}

export function readLogQuery(chain: Chain, param: unknown): LogQuery {
  const members = object(param, "the filter");
  return { ...readLogFilter(members), ...readRange(chain, members) };
}

export function readLogFilter(members: Members): LogFilter {
  const { topics } = members;
  if (topics !== undefined && topics !== null && !Array.isArray(topics)) {
    throw invalidParams(`topics is ${shortJson(topics)}, not a list`);
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
  if (value.length > MAX_ALTERNATIVES) {
    throw invalidParams(`a list of alternatives has ${value.length} entries, more than ${MAX_ALTERNATIVES}`);
  }
  // An empty list of alternatives means no restriction, as in geth.
  return value.length === 0 ? undefined : new Set(value.map(read));
}

function readRange(chain: Chain, members: Members): { first: number; last: number } {
  const { blockHash, fromBlock, toBlock } = members;
  if (blockHash !== undefined && blockHash !== null) {
    if (fromBlock !== undefined || toBlock !== undefined) {
      throw invalidParams("blockHash cannot be combined with fromBlock or toBlock");
    }
    const { number } = requireBlock(chain, { blockHash });
    return { first: number, last: number };
  }
  const first = rangeEnd(chain, fromBlock);
  // A range without an end, or up to the latest block, is open: it includes later blocks.
  const last = isOpen(toBlock) ? Number.MAX_SAFE_INTEGER : rangeEnd(chain, toBlock);
  if (fromBlock !== undefined && toBlock !== undefined && first > last && first <= chain.head.number) {
    throw invalidParams(`fromBlock ${first} is after toBlock ${last}`);
  }
  return { first, last };
}

function isOpen(tag: unknown): boolean {
  return tag === undefined || tag === null || tag === "latest" || tag === "pending";
}

/** The end of a range may be beyond the latest block. Blocks that do not exist have no logs. */
function rangeEnd(chain: Chain, tag: unknown): number {
  if (typeof tag === "string" && /^0x[0-9a-fA-F]{1,13}$/.test(tag)) return Number(tag);
  return requireBlock(chain, tag).number;
}

/**
 * The logs of a range, oldest first. Blocks whose bloom rules out the filter are skipped, so that a range of 100,000
 * blocks takes milliseconds.
 * @throws RpcError when there are more than {@link MAX_LOGS}.
 */
export function logsIn(chain: Chain, query: LogQuery): FormattedLog[] {
  const found: FormattedLog[] = [];
  const alternatives = bloomAlternatives(query);
  const last = Math.min(query.last, chain.head.number);
  for (let number = query.first; number <= last; number++) {
    const block = chain.ledger.byNumber(number);
    if (block === undefined || !blockMayHold(block, alternatives)) continue;
    for (const log of matchingLogs(block, query)) found.push(log);
    if (found.length > MAX_LOGS) {
      throw new RpcError(
        RPC_CODES.limitExceeded,
        `query returned more than ${MAX_LOGS} results: ask for fewer blocks than ${query.first} to ${last}`,
      );
    }
  }
  return found;
}

type BloomBits = readonly number[];

/** For each restriction of a filter, the bloom bits of its alternatives. A log must match one alternative of each. */
function bloomAlternatives({ addresses, topics }: LogFilter): BloomBits[][] {
  return [addresses, ...topics]
    .filter((restriction) => restriction !== undefined)
    .map((restriction) => [...restriction].map((hex) => bloomBits(hexToBytes(hex))));
}

function blockMayHold({ logsBloom: bloom }: SealedBlock, alternatives: readonly BloomBits[][]): boolean {
  return bloom !== undefined && alternatives.every((items) => items.some((bits) => mayHold(bloom, bits)));
}

export function matchingLogs(block: SealedBlock, filter: LogFilter): FormattedLog[] {
  if (block.logsBloom === undefined) return [];
  return block.transactions.flatMap((included, index) => logsOf(block, index, included, filter));
}

function logsOf(
  block: SealedBlock,
  index: number,
  included: IncludedTransaction,
  filter: LogFilter,
): FormattedLog[] {
  return included.receipt.logs.flatMap((log, i) =>
    matches(log, filter) ? [formatLog(block, index, included, log, i)] : [],
  );
}

function matches(log: Log, { addresses, topics }: LogFilter): boolean {
  if (addresses !== undefined && !addresses.has(bytesToHex(log.address))) return false;
  return topics.every((allowed, i) => {
    const topic = log.topics[i];
    return topic !== undefined && (allowed === undefined || allowed.has(bytesToHex(topic)));
  });
}
