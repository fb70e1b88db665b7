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
  /** Returns the changes since the last poll. */
  readonly changes: () => readonly unknown[];
  /** The query of a log filter; undefined for other filters. */
  readonly query: LogQuery | undefined;
  expiresAt: number;
}

/** Methods that make and poll filters. */
export function filterMethods(chain: Chain): Methods {
  const filters = new Filters(chain);
  return {
    eth_newFilter: ([filter]) => filters.addLogs(filter),
    eth_newBlockFilter: () => filters.addBlocks(),
    eth_newPendingTransactionFilter: () => filters.addPending(),
    eth_getFilterChanges: ([id]) => filters.require(id).changes(),
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
  /** The first block that each filter has not reported. A revert of the chain moves it back. */
  readonly #cursors = new Map<unknown, number>();
  readonly #pending: Hex[] = [];
  /** The filters of pending transactions. While there are none, no hashes are added. */
  readonly #pendingFilters = new Set<unknown>();
  #pendingDropped = 0;

  constructor(chain: Chain) {
    this.#chain = chain;
    chain.pool.onTransaction(({ hash }) => this.#keepPending(hash));
    chain.onRemoved(({ number }) => {
      for (const [id, next] of this.#cursors) this.#cursors.set(id, Math.min(next, number));
    });
  }

  addLogs(param: unknown): string {
    const query = readLogQuery(this.#chain, param);
    const id = this.#add(query, () => {
      const from = Math.max(this.#advance(id), query.first);
      const to = Math.min(this.#chain.head.number, query.last);
      return from > to ? [] : logsIn(this.#chain, { ...query, first: from, last: to });
    });
    return id;
  }

  addBlocks(): string {
    const id = this.#add(undefined, () => {
      const hashes: Hex[] = [];
      for (let number = this.#advance(id); number <= this.#chain.head.number; number++) {
        const block = this.#chain.ledger.byNumber(number);
        if (block !== undefined) hashes.push(block.hash);
      }
      return hashes;
    });
    return id;
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

  delete(id: unknown): boolean {
    this.#cursors.delete(id);
    this.#pendingFilters.delete(id);
    return this.#filters.delete(id);
  }

  #add(query: LogQuery | undefined, changes: () => readonly unknown[]): string {
    this.#removeExpired();
    if (this.#filters.size >= MAX_FILTERS) {
      throw new RpcError(RPC_CODES.limitExceeded, `there are ${MAX_FILTERS} filters; uninstall some`);
    }
    const id = newId();
    this.#filters.set(id, { changes, query, expiresAt: this.#expiry() });
    this.#cursors.set(id, this.#chain.head.number + 1);
    return id;
  }

  /** Returns the first block that the filter has not reported, and marks all blocks as reported. */
  #advance(id: string): number {
    const next = this.#cursors.get(id) ?? this.#chain.head.number + 1;
    this.#cursors.set(id, this.#chain.head.number + 1);
    return next;
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
