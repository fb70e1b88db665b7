import type { Hex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import { RPC_CODES, RpcError } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { shortJson } from "../rpc/params.js";
import { type LogQuery, logsIn, readLogQuery } from "./logs.js";
import { newId } from "./subscriptionMethods.js";

/** A filter that is not polled for this long is removed, as in geth. */
export const FILTER_LIFE_MS = 300_000;
const MAX_FILTERS = 10_000;
/** At least this many hashes of the latest pending transactions are kept for filters to poll. */
const PENDING_KEPT = 50_000;

interface Filter {
  /** Returns the changes since the last poll. `first` is the first block that the filter has not reported. */
  readonly changes: (first: number) => readonly unknown[];
  /** The query of a log filter; undefined for other filters. */
  readonly query: LogQuery | undefined;
  expiresAt: number;
  /** The first block that it has not reported. A revert of the chain moves it back. */
  next: number;
}

/** Methods that make and poll filters. */
export function filterMethods(chain: Chain): Methods {
  const filters = new Filters(chain);
  return {
    eth_newFilter: ([filter]) => filters.addLogs(filter),
    eth_newBlockFilter: () => filters.addBlocks(),
    eth_newPendingTransactionFilter: () => filters.addPending(),
    eth_getFilterChanges: ([id]) => filters.changes(id),
    eth_getFilterLogs: ([id]) => {
      const { query } = filters.require(id);
      if (query === undefined)
        throw new RpcError(RPC_CODES.refused, "filter not found: it is not a filter of logs");
      return logsIn(chain, query);
    },
    eth_uninstallFilter: ([id]) => filters.delete(id),
  };
}

class Filters {
  readonly #chain: Chain;
  readonly #filters = new Map<unknown, Filter>();
  readonly #pending: Hex[] = [];
  /** The filters of pending transactions. While there are none, no hashes are added. */
  readonly #pendingFilters = new Set<unknown>();
  #pendingDropped = 0;

  constructor(chain: Chain) {
    this.#chain = chain;
    chain.pool.onTransaction(({ hash }) => this.#keepPending(hash));
    chain.onRemoved(({ number }) => {
      for (const filter of this.#filters.values()) filter.next = Math.min(filter.next, number);
    });
  }

  addLogs(param: unknown): string {
    const query = readLogQuery(this.#chain, param);
    return this.#add(query, (first) => {
      const from = Math.max(first, query.first);
      const to = Math.min(this.#chain.head.number, query.last);
      return from > to ? [] : logsIn(this.#chain, { ...query, first: from, last: to });
    });
  }

  addBlocks(): string {
    return this.#add(undefined, (first) => {
      const hashes: Hex[] = [];
      for (let number = first; number <= this.#chain.head.number; number++) {
        const block = this.#chain.ledger.byNumber(number);
        if (block !== undefined) hashes.push(block.hash);
      }
      return hashes;
    });
  }

  addPending(): string {
    let next = this.#pendingDropped + this.#pending.length;
    const id = this.#add(undefined, () => {
      const hashes = this.#pending.slice(Math.max(0, next - this.#pendingDropped));
      next = this.#pendingDropped + this.#pending.length;
      return hashes;
    });
    this.#pendingFilters.add(id);
    return id;
  }

  require(id: unknown): Filter {
    this.#removeExpired();
    const filter = this.#filters.get(id);
    if (filter === undefined) throw new RpcError(RPC_CODES.refused, `filter not found: ${shortJson(id)}`);
    filter.expiresAt = this.#expiry();
    return filter;
  }

  /** Returns the changes since the last poll, and marks all blocks as reported. */
  changes(id: unknown): readonly unknown[] {
    const filter = this.require(id);
    const first = filter.next;
    filter.next = this.#chain.head.number + 1;
    return filter.changes(first);
  }

  delete(id: unknown): boolean {
    this.#pendingFilters.delete(id);
    return this.#filters.delete(id);
  }

  #add(query: LogQuery | undefined, changes: Filter["changes"]): string {
    this.#removeExpired();
    if (this.#filters.size >= MAX_FILTERS) {
      throw new RpcError(RPC_CODES.limitExceeded, `there are ${MAX_FILTERS} filters; uninstall some`);
    }
    const id = newId();
    this.#filters.set(id, { changes, query, expiresAt: this.#expiry(), next: this.#chain.head.number + 1 });
    return id;
  }

  #keepPending(hash: Hex): void {
    if (this.#pendingFilters.size === 0) return;
    this.#pending.push(hash);
    if (this.#pending.length < 2 * PENDING_KEPT) return;
    this.#pending.splice(0, PENDING_KEPT);
    this.#pendingDropped += PENDING_KEPT;
  }

  #removeExpired(): void {
    const now = this.#chain.options.now();
    for (const [id, { expiresAt }] of this.#filters) if (expiresAt <= now) this.delete(id);
  }

  #expiry(): number {
    return this.#chain.options.now() + FILTER_LIFE_MS;
  }
}
