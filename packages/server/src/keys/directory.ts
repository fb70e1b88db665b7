import { timingSafeEqual } from "node:crypto";
import type { Caller, KeyLimits } from "../model/caller.js";
import type { Logger } from "../model/log.js";
import { findKeysChangedSince, type StoredKey } from "../store/apiKeys.js";
import { isStoreUnavailable } from "../store/database.js";
import type { Store } from "../store/store.js";
import { keyIdIn } from "./apiKey.js";
import { CachedKey, type Grant, HASH_OF_NO_KEY, unknownKey } from "./cachedKey.js";

/** The keys of the store, held in memory: who calls is known without a query, also while the store is away. */
export interface KeyDirectory {
  /**
   * Finds the key and whether it is good now.
   * @param text the whole key; `hash` is its SHA-256.
   * @throws ProtocolError of code `UNAUTHORIZED`; the message never repeats the key.
   */
  authenticate(text: string, hash: Buffer): Grant;
  /**
   * Reads what has changed in the store; or all of it, if `anew`: it may be another store than before, a backup that
   * was restored. Two looks at once are one, and one more if the first began too early.
   */
  refresh(anew?: boolean): Promise<void>;
  readonly size: number;
  close(): void;
}

export interface KeyDirectoryDependencies {
  readonly store: Pick<Store, "pool">;
  readonly log: Logger;
  /** What a key may do that sets no limit of its own. */
  readonly limits: KeyLimits;
  /** Submissions that may wait for a broadcast: a key's batches must fit into its share. */
  readonly queueCapacity: number;
  /** In ms, of a clock that does not jump. */
  readonly now?: () => number;
}

/** How often the store is asked, behind the notices: a change binds within twice of it in the worst case. */
const REFRESH_MS = 500;

/** Opens the directory and reads the keys. Times of keys are the database's, so its clock is learned at each look. */
export async function openKeyDirectory(dependencies: KeyDirectoryDependencies): Promise<KeyDirectory> {
  const { store, log, limits, queueCapacity, now = () => performance.now() } = dependencies;
  const held = new Map<string, CachedKey>();
  let version = 0n;
  let storeAheadMs = 0;
  const storeTime = () => new Date(now() + storeAheadMs);
  const take = (key: StoredKey) => {
    // A slow answer after a later one.
    if (key.version <= version) return;
    const caller = callerOf(key, limits, queueCapacity);
    const known = held.get(key.id);
    if (key.notUnderstood && !known?.isNotUnderstood) {
      const what = { keyId: key.id, err: key.notUnderstood.why };
      log.error(what, "an API key is refused: this version does not understand what is set for it");
    }
    if (known) known.update(key, caller, storeTime());
    else held.set(key.id, new CachedKey(key, caller));
    version = key.version;
  };
  let anew = true;
  const read = async () => {
    const askedAt = now();
    const all = anew;
    const found = await findKeysChangedSince(store, all ? 0n : version);
    storeAheadMs = found.now.getTime() - askedAt;
    if (!all && found.newest < version) {
      anew = true;
      return await read();
    }
    if (all) {
      anew = false;
      version = 0n;
      const kept = new Set(found.keys.map(({ id }) => id));
      for (const [id, key] of held) if (!kept.has(id) && held.delete(id)) key.endAllGrants();
    }
    for (const key of found.keys) take(key);
  };
  const refreshOnce = oneAtATime(read);
  const refresh = (all = false) => {
    anew ||= all;
    return refreshOnce();
  };
  await refresh();
  const timer = setInterval(() => {
    // Also without the store: a key expires by itself.
    for (const key of held.values()) key.endInvalidGrants(storeTime());
    refresh().catch((error: Error) => {
      // Nothing else would tell that changes of keys do not bind.
      const level = isStoreUnavailable(error) ? "debug" : "error";
      log[level]({ err: error.message }, "API keys could not be looked up");
    });
  }, REFRESH_MS);
  return {
    authenticate(text, hash) {
      const key = held.get(keyIdIn(text) ?? "");
      if (key) return key.authenticate(hash, storeTime());
      // What a known id with a wrong secret costs.
      timingSafeEqual(HASH_OF_NO_KEY, hash);
      timingSafeEqual(HASH_OF_NO_KEY, hash);
      throw unknownKey();
    },
    refresh,
    get size() {
      return held.size;
    },
    close: () => clearInterval(timer),
  };
}

/**
 * What a key may do. Rate, burst, share and batch replace the service's; body, gas and data only narrow them, because
 * those protect the service. A batch that could never pass is refused as too large, and not for ever as too fast.
 */
function callerOf({ id, terms }: StoredKey, service: KeyLimits, queueCapacity: number): Caller {
  const own = terms.limits;
  const limits = { ...service, ...own };
  const share = Math.ceil(queueCapacity * limits.queueShare);
  return {
    keyId: id,
    limits: {
      ...limits,
      maxBatchSize: Math.min(limits.maxBatchSize, limits.rateBurst, share),
      maxGasLimit: least(own.maxGasLimit, service.maxGasLimit),
      maxDataLength: Math.min(limits.maxDataLength, service.maxDataLength),
    },
    allowedTargets: terms.allowedTargets,
    caps: Object.keys(terms.caps).length > 0 ? terms.caps : undefined,
  };
}

function least(own: bigint | undefined, service: bigint): bigint {
  return own !== undefined && own < service ? own : service;
}

/** Runs it, or once more after the run under way: whoever asks gets a run that began after the question. */
function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = () => {
    running = run().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (running === undefined) return start();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
