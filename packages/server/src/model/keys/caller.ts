import { type AllowedTarget, compilePolicy, type Policy } from "@gas-waiver/protocol";
import type { ResolvedOptions } from "../options/options.js";

/**
 * An API key with its limits and rights (D22, D25). The service's limits stand in for those that the key does not set.
 */
export interface Caller {
  /** Names the API key without revealing it. */
  readonly keyId: string;
  readonly limits: KeyLimits;
  /** The key's own scope, which narrows the waivers' policies (D25). Undefined: no scope of its own. */
  readonly allowedTargets: readonly AllowedTarget[] | undefined;
  /** The caps of each day (UTC, by the database's clock). Undefined: none. */
  readonly caps: KeyCaps | undefined;
  /** The narrower rights of a publishable key (D32). Absent: the key is secret, and sees all that it submitted. */
  readonly publishable?: PublishableRights;
  /** The group of addresses of the client, where the key is publishable: one address must not use up what others need. */
  readonly address?: string;
  /** The larger network of that address, where it has one: its addresses share their limits. */
  readonly site?: string;
}

/** The rights of a publishable key (D32), which everybody may know. It sees only what it can name by hash. */
export interface PublishableRights {
  /** The origins that may use the key, as `isOriginOfKey` reads them. */
  readonly origins: readonly string[];
  /** The transactions a second of each address under the key. */
  readonly addressRate: RateLimits;
}

/**
 * The share of the queue, of the memory and of the WebSockets that publishable keys may hold together: anybody can use them, from many
 * addresses.
 */
export const PUBLISHABLE_SHARE = 0.5;

/** The part of a caller that names whom a limit counts for. */
export type LimitedCaller = Pick<Caller, "keyId" | "address" | "site">;

/** Names whom the limits of one replica count for: a key, or each address under a publishable one. */
export function partyOf({ keyId, address }: LimitedCaller): string {
  return address === undefined ? keyId : `${keyId} ${address}`;
}

/**
 * Names the owner of work for queues in which a publishable key is one party: its addresses take turns within it.
 * @param waitingOfPart the most work of one address that may wait, so that it leaves room to the others. Default: no bound.
 */
export function ownerOf({ keyId, address }: LimitedCaller, waitingOfPart?: number) {
  const bound = waitingOfPart === undefined ? {} : { waitingOfPart };
  return { party: keyId, ...(address !== undefined && { part: address, ...bound }) };
}

/** The limits of one key (D22). */
export interface KeyLimits {
  /** Transactions a second. `rateBurst` may be sent at once after a pause. */
  readonly ratePerSecond: number;
  readonly rateBurst: number;
  /** The share of the queue that the key may hold: above 0, at most 1. */
  readonly queueShare: number;
  readonly maxBatchSize: number;
  /** The size of a body or frame. Undefined: only the service's limit, which no key can exceed. */
  readonly maxBodyBytes: number | undefined;
  /** The gas limit of one InnerTx (D3). */
  readonly maxGasLimit: bigint;
  /** The calldata of one InnerTx, in bytes (D3). */
  readonly maxDataLength: number;
}

/** The part of a key's limits that a token bucket needs: the refill rate and the size of the bucket. */
export type RateLimits = Pick<KeyLimits, "ratePerSecond" | "rateBurst">;

/** The daily caps of a key, and of each sender under it (D25). Undefined members are not capped. */
export interface KeyCaps {
  readonly transactions?: number;
  /** The cap in gas. */
  readonly gas?: bigint;
  readonly senderTransactions?: number;
  readonly senderGas?: bigint;
}

/** @returns the service's limits, for keys without limits of their own. */
export function limitsOfService(
  options: Pick<ResolvedOptions, Exclude<keyof KeyLimits, "queueShare" | "maxBodyBytes"> | "keyQueueShare">,
): KeyLimits {
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

/** @returns the key's own scope (D25), compiled once; undefined if it has none. */
export function scopeOf({ allowedTargets }: Pick<Caller, "allowedTargets">): Policy | undefined {
  if (allowedTargets === undefined) return undefined;
  const known = compiled.get(allowedTargets) ?? compilePolicy(allowedTargets);
  compiled.set(allowedTargets, known);
  return known;
}
