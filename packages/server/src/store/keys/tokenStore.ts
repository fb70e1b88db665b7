import type { RateLimits } from "../../model/caller.js";
import { prepared } from "../statements.js";
import type { Store } from "../store.js";

/** What a replica asks for, for one key. */
export interface TokenRequest {
  readonly keyId: string;
  readonly limits: RateLimits;
  /** Of each request that waits, in their order: all or nothing. */
  readonly needs: readonly number[];
  /** So many for later, if there are. */
  readonly more: number;
}

export interface TokenGrant {
  readonly granted: readonly boolean[];
  readonly extra: number;
  /** What is left for all replicas, with the fraction of the next. */
  readonly available: number;
}

/** The tokens of all keys, one for each transaction, that all replicas share (D22). */
export interface TokenStore {
  take(request: TokenRequest): Promise<TokenGrant>;
  giveBack(keyId: string, count: number): Promise<void>;
}

/** By the database's clock. */
export function createTokenStore({ pool }: Pick<Store, "pool">): TokenStore {
  return {
    async take({ keyId, limits, needs, more }) {
      const { rows } = await pool.query<TokenGrant>(
        prepared("select granted, extra, available from take_tokens($1, $2, $3, $4, $5)", [
          keyId,
          needs,
          more,
          limits.ratePerSecond,
          limits.rateBurst,
        ]),
      );
      if (rows[0] === undefined) throw new Error("the store said nothing of tokens");
      return rows[0];
    },
    async giveBack(keyId, count) {
      await pool.query(
        prepared("update key_rates set used = greatest(0, used - $2::float8) where key_id = $1", [
          keyId,
          count,
        ]),
      );
    },
  };
}
