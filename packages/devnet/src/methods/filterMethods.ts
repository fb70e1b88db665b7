import type { Hex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import { RPC_CODES, RpcError } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { show } from "../rpc/params.js";
import { type LogQuery, logsIn, readLogQuery } from "./logs.js";
import { newId } from "./subscriptionMethods.js";

/** A filter that nobody asks about for so long is forgotten, as in geth. */
export const FILTER_LIFE_MS = 300_000;
const MAX_FILTERS = 10_000;
/** Hashes of transactions that came into the pool, kept for filters that have not asked yet. */
const PENDING_KEPT = 50_000;

interface Filter {
  /** What has come up since it was asked last. */
  readonly changes: () => readonly unknown[];
  /** Everything that a log filter finds; undefined for filters of another kind. */
  readonly query: LogQuery | undefined;
  expiresAt: number;
}

/** eth_new…Filter and its companions: subscriptions for those who have to ask. */
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
        throw new RpcError(RPC_CODES.refused, "filter not found: it is not one of logs");
      return logsIn(chain, query);
    },
    eth_uninstallFilter: ([id]) => filters.delete(id),
  };
}

class Filters {
  readonly #chain: Chain;
  readonly #filters = new Map<unknown, Filter>();
  /** The next block that a filter has not told of; a chain that goes back takes them along. */
  readonly #cursors = new Map<unknown, number>();
  readonly #pending: Hex[] = [];
  /** While there are none, nothing is kept for them. */
  readonly #pendingFilters = new Set<unknown>();
  #pendingDropped = 0;

  constructor(chain: Chain) {
    this.#chain = chain;
    chain.pool.onTransaction(({ hash }) => this.#notePending(hash));
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
    this.#forgetOld();
    const filter = this.#filters.get(id);
    if (filter === undefined) throw new RpcError(RPC_CODES.refused, `filter not found: ${show(id)}`);
    filter.expiresAt = this.#expiry();
    return filter;
  }

  delete(id: unknown): boolean {
    this.#cursors.delete(id);
    this.#pendingFilters.delete(id);
    return this.#filters.delete(id);
  }

  #add(query: LogQuery | undefined, changes: () => readonly unknown[]): string {
    this.#forgetOld();
    if (this.#filters.size >= MAX_FILTERS) {
      throw new RpcError(RPC_CODES.limitExceeded, `there are ${MAX_FILTERS} filters; uninstall some`);
    }
    const id = newId();
    this.#filters.set(id, { changes, query, expiresAt: this.#expiry() });
    this.#cursors.set(id, this.#chain.head.number + 1);
    return id;
  }

  /** @returns the first block not told of yet, and counts the latest as told. */
  #advance(id: string): number {
    const next = this.#cursors.get(id) ?? this.#chain.head.number + 1;
    this.#cursors.set(id, this.#chain.head.number + 1);
    return next;
  }

  #notePending(hash: Hex): void {
    if (this.#pendingFilters.size === 0) return;
    this.#pending.push(hash);
    if (this.#pending.length < 2 * PENDING_KEPT) return;
    this.#pending.splice(0, PENDING_KEPT);
    this.#pendingDropped += PENDING_KEPT;
  }

  #forgetOld(): void {
    const now = this.#chain.options.now();
    for (const [id, { expiresAt }] of this.#filters) if (expiresAt <= now) this.delete(id);
  }

  #expiry(): number {
    return this.#chain.options.now() + FILTER_LIFE_MS;
  }
}
