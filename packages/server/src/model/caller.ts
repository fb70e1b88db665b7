import { type AllowedTarget, compilePolicy, type Policy } from "@gas-waiver/protocol";
import type { ResolvedOptions } from "./options.js";

/** Who calls: an API key, and what it may do (D22, D25). Everything is resolved: what the key does not set is the service's. */
export interface Caller {
  /** Names the API key without giving it away. */
  readonly keyId: string;
  readonly limits: KeyLimits;
  /** Narrows what the waivers may send (D25); undefined: no own scope. */
  readonly allowedTargets: readonly AllowedTarget[] | undefined;
  /** Per day (UTC, by the database's clock); undefined: none. */
  readonly caps: KeyCaps | undefined;
}

/** What one key may ask for at once and over time (D22). */
export interface KeyLimits {
  /** Transactions a second, and how many at once after a pause. */
  readonly ratePerSecond: number;
  readonly rateBurst: number;
  /** The share of the queue that the key may hold: above 0, at most 1. */
  readonly queueShare: number;
  readonly maxBatchSize: number;
  /** Of a body or frame; undefined: the service's limit alone, which no key can exceed. */
  readonly maxBodyBytes: number | undefined;
  /** In gas, of one InnerTx (D3). */
  readonly maxGasLimit: bigint;
  /** In bytes of calldata, of one InnerTx (D3). */
  readonly maxDataLength: number;
}

/** The part of a key's limits that a token bucket needs: the refill rate and the size of the bucket. */
export type RateLimits = Pick<KeyLimits, "ratePerSecond" | "rateBurst">;

/** What a key, and each sender under it, may use in a day (D25); undefined: as much as the limits let through. */
export interface KeyCaps {
  readonly transactions?: number;
  /** In gas. */
  readonly gas?: bigint;
  readonly senderTransactions?: number;
  readonly senderGas?: bigint;
}

/** What a key may do that sets no limit of its own. */
export function limitsOfService(options: ResolvedOptions): KeyLimits {
  const { ratePerSecond, rateBurst, keyQueueShare, maxBatchSize, maxGasLimit, maxDataLength } = options;
  return {
    ratePerSecond,
    rateBurst,
    queueShare: keyQueueShare,
    maxBatchSize,
    maxBodyBytes: undefined,
    maxGasLimit,
    maxDataLength,
  };
}

const compiled = new WeakMap<readonly AllowedTarget[], Policy>();

/** The key's own scope (D25), compiled once; undefined if it has none. */
export function scopeOf({ allowedTargets }: Pick<Caller, "allowedTargets">): Policy | undefined {
  if (allowedTargets === undefined) return undefined;
  const known = compiled.get(allowedTargets) ?? compilePolicy(allowedTargets);
  compiled.set(allowedTargets, known);
  return known;
}
