import type { RateLimits } from "../../model/keys/caller.js";
import { prepared } from "../database/statements.js";
import type { Store } from "../store.js";

/** A replica's request for tokens of one API key. One token is one transaction (D22). */
export interface TokenRequest {
  readonly keyId: string;
  readonly limits: RateLimits;
  /** The tokens of each waiting request, in their order. Each gets all of its tokens or none. */
  readonly needs: readonly number[];
  /** The most tokens to take in advance, for later requests, from those that are left. */
  readonly prefetch: number;
}

export interface TokenGrant {
  /** For each of the `needs`: whether it got its tokens. */
  readonly granted: readonly boolean[];
  /** The tokens that were taken in advance. */
  readonly prefetched: number;
  /** The tokens left for all replicas, with a fraction. */
  readonly available: number;
}

/** The token buckets of all API keys, which all replicas share (D22). */
export type TokenStore = ReturnType<typeof createTokenStore>;

/** Token buckets in the database. They fill by its clock. */
export function createTokenStore({ pool }: Pick<Store, "pool">) {
  return {
    async take({ keyId, limits, needs, prefetch }: TokenRequest) {
      const { rows } = await pool.query<TokenGrant>(
        prepared("select granted, extra as prefetched, available from take_tokens($1, $2, $3, $4, $5)", [
          keyId,
          needs,
          prefetch,
          limits.ratePerSecond,
          limits.rateBurst,
        ]),
      );
      if (rows[0] === undefined) throw new Error("the store returned no tokens");
      return rows[0];
    },
    async giveBack(keyId: string, count: number) {
      await pool.query(
        prepared("update key_rates set used = greatest(0, used - $2::float8) where key_id = $1", [
          keyId,
          count,
        ]),
      );
    },
  };
}
