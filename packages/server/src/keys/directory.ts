import { timingSafeEqual } from "node:crypto";
import {
  type Caller,
  type KeyLimits,
  limitsOfService,
  type PublishableRights,
} from "../model/keys/caller.js";
import { DEFAULT_ADDRESS_LIMITS, type KeyTerms } from "../model/keys/keyTerms.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import { isStoreUnavailable } from "../store/database/storeTrouble.js";
import { findKeysChangedSince, type StoredKey } from "../store/keys/apiKeys.js";
import type { Store } from "../store/store.js";
import { batched } from "../util/batched.js";
import { keyIdIn } from "./apiKey.js";
import { CachedKey, type Grant, HASH_OF_NO_KEY, unknownKey } from "./cachedKey.js";

type ServiceLimits = Parameters<typeof limitsOfService>[0] & Pick<ResolvedOptions, "queueCapacity">;

export interface KeyDirectoryDependencies {
  readonly store: Pick<Store, "pool">;
  readonly log: Logger;
  /** The options, whose limits are for keys without limits of their own. After a change of them, {@link KeyDirectory.refresh} reads all keys. */
  readonly options: ServiceLimits;
  /** Returns the time in ms of a monotonic clock. */
  readonly now?: () => number;
}

/** The polling interval. Notifications apply most changes earlier. In the worst case a change applies after twice this time. */
const REFRESH_MS = 500;

/** The keys of the store in memory, so that authentication needs no query, and works while the store is unavailable. */
export class KeyDirectory {
  readonly #dependencies: KeyDirectoryDependencies;
  readonly #now: () => number;
  readonly #keys = new Map<string, CachedKey>();
  /** Undefined until it is asked for again. */
  #origins: ReadonlySet<string> | undefined;
  /** The version of the latest change that was applied. */
  #version = 0n;
  /** The difference between the database's clock, which the keys' times follow, and this replica's. */
  #clockOffsetMs = 0;
  #isFullReadDue = true;
  readonly #read = batched<undefined, void>(async () => [await this.#readChanges()]);
  #timer: NodeJS.Timeout | undefined;

  private constructor(dependencies: KeyDirectoryDependencies) {
    this.#dependencies = dependencies;
    this.#now = dependencies.now ?? (() => performance.now());
  }

  /** Opens the directory and reads the keys. */
  static async open(dependencies: KeyDirectoryDependencies): Promise<KeyDirectory> {
    const directory = new KeyDirectory(dependencies);
    await directory.refresh();
    directory.#poll();
    return directory;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** The origins that some publishable key permits (D32). A preflight of a browser names an origin, and no key. */
  get origins(): ReadonlySet<string> {
    this.#origins ??= new Set([...this.#keys.values()].flatMap((key) => key.origins));
    return this.#origins;
  }

  /**
   * @param text the whole key.
   * @param hash the SHA-256 of the text.
   * @throws ProtocolError of code `UNAUTHORIZED`. The message never repeats the key.
   */
  authenticate(text: string, hash: Buffer): Grant {
    const key = this.#keys.get(keyIdIn(text) ?? "");
    if (key) return key.authenticate(hash, this.#storeTime());
    // Takes as long as a known id with a wrong secret.
    timingSafeEqual(HASH_OF_NO_KEY, hash);
    timingSafeEqual(HASH_OF_NO_KEY, hash);
    throw unknownKey();
  }

  /**
   * Reads the changes from the store. The promise resolves after a read that started after this call.
   * @param full reads all keys instead, because the service's limits have changed, or the store may be another one now: a backup
   * that was restored.
   */
  refresh(full = false): Promise<void> {
    this.#isFullReadDue ||= full;
    return this.#read(undefined);
  }

  #poll(): void {
    const { log } = this.#dependencies;
    this.#timer = setInterval(() => {
      // Also while the store is unavailable, because keys expire without it.
      for (const key of this.#keys.values()) key.endInvalidGrants(this.#storeTime());
      this.refresh().catch((error: Error) => {
        // An unavailable store is reported elsewhere. For other errors, this is the only report that changes do not apply.
        const level = isStoreUnavailable(error) ? "debug" : "error";
        log[level]({ err: error.message }, "API keys could not be read");
      });
    }, REFRESH_MS);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #storeTime(): Date {
    return new Date(this.#now() + this.#clockOffsetMs);
  }

  async #readChanges(): Promise<void> {
    const startedAt = this.#now();
    const isFull = this.#isFullReadDue;
    const found = await findKeysChangedSince(this.#dependencies.store, isFull ? 0n : this.#version);
    this.#clockOffsetMs = found.now.getTime() - startedAt;
    if (!isFull && found.newest < this.#version) {
      // The store is older than the directory.
      this.#isFullReadDue = true;
      return await this.#readChanges();
    }
    if (isFull) {
      this.#isFullReadDue = false;
      this.#version = 0n;
      this.#removeAllBut(new Set(found.keys.map(({ id }) => id)));
      this.#origins = undefined;
    }
    for (const key of found.keys) this.#apply(key);
  }

  #removeAllBut(ids: ReadonlySet<string>): void {
    for (const [id, key] of this.#keys) {
      if (ids.has(id)) continue;
      this.#keys.delete(id);
      key.endAllGrants();
    }
  }

  #apply(key: StoredKey): void {
    // Each change has a version of its own, so this one was applied already.
    if (key.version <= this.#version) return;
    const { options, log } = this.#dependencies;
    const caller = callerOf(key, options);
    const known = this.#keys.get(key.id);
    if (key.notUnderstood && !known?.isNotUnderstood) {
      const details = { keyId: key.id, err: key.notUnderstood.why };
      log.error(details, "an API key is refused: this version does not understand its terms");
    }
    if (known) known.update(key, caller, this.#storeTime());
    else this.#keys.set(key.id, new CachedKey(key, caller));
    this.#version = key.version;
    this.#origins = undefined;
  }
}

/**
 * Combines the key's terms with the service's limits. Rate, burst, share and batch size of the key replace the service's.
 * Limits of body, gas and data only narrow them, because they protect the service. The batch size is capped, so that a
 * batch that could never pass is refused as too large, rather than as too fast each time.
 */
function callerOf({ id, terms }: StoredKey, options: ServiceLimits): Caller {
  const service = limitsOfService(options);
  const { addressRatePerSecond: _rate, addressRateBurst: _burst, ...own } = terms.limits;
  const publishable = publishableRightsOf(terms);
  const limits = { ...service, ...(publishable && PUBLISHABLE_LIMITS), ...own };
  const share = Math.ceil(options.queueCapacity * limits.queueShare);
  return {
    keyId: id,
    limits: {
      ...limits,
      maxBatchSize: Math.min(
        limits.maxBatchSize,
        limits.rateBurst,
        share,
        publishable?.addressRate.rateBurst ?? limits.maxBatchSize,
      ),
      maxGasLimit: lower(own.maxGasLimit, service.maxGasLimit),
      maxDataLength: Math.min(limits.maxDataLength, service.maxDataLength),
    },
    allowedTargets: terms.allowedTargets,
    caps: Object.keys(terms.caps).length > 0 ? terms.caps : undefined,
    ...(publishable && { publishable }),
  };
}

/** The limits of a publishable key that sets none: a page sends single transactions, or a few. */
export const PUBLISHABLE_LIMITS = {
  maxBatchSize: 20,
  maxBodyBytes: 1_048_576,
} as const satisfies Partial<KeyLimits>;

function publishableRightsOf({ origins, limits }: KeyTerms): PublishableRights | undefined {
  if (origins === undefined) return undefined;
  const { addressRatePerSecond: ratePerSecond, addressRateBurst: rateBurst } = {
    ...DEFAULT_ADDRESS_LIMITS,
    ...limits,
  };
  return { origins, addressRate: { ratePerSecond, rateBurst } };
}

function lower(own: bigint | undefined, service: bigint): bigint {
  return own !== undefined && own < service ? own : service;
}
