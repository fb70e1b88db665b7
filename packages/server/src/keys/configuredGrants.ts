import type { Caller } from "../model/keys/caller.js";
import { type Grant, unknownKey } from "./cachedKey.js";
import type { ConfiguredKey } from "./configuredKeys.js";

/** The rights of the keys of the configuration, which are those of the service. */
export type ConfiguredRights = Pick<Caller, "limits"> & {
  /** The origins that may use the publishable keys. */
  readonly publicKeyOrigins: readonly string[];
};

interface ConfiguredGrant {
  readonly keyId: string;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
  readonly grant: Grant;
}

interface KnownGrant extends ConfiguredGrant {
  readonly controller: AbortController;
  caller: Caller;
}

/** The API keys of the configuration and what they permit. Both may change while the service runs. */
export class ConfiguredGrants {
  #known: readonly KnownGrant[] = [];

  constructor(keys: readonly ConfiguredKey[], rights: ConfiguredRights) {
    this.set(keys, rights);
  }

  get all(): readonly ConfiguredGrant[] {
    return this.#known;
  }

  /** Replaces the keys and their rights. The streams and connections of keys that are gone end. */
  set(keys: readonly ConfiguredKey[], rights: ConfiguredRights): void {
    const before = new Map(this.#known.map((known) => [known.keyId, known]));
    this.#known = keys.map((key) => {
      const known = before.get(key.keyId) ?? newGrant(key, rights);
      before.delete(key.keyId);
      known.caller = callerOf(key, rights);
      return known;
    });
    for (const { controller } of before.values()) controller.abort(unknownKey());
  }
}

function newGrant(key: ConfiguredKey, rights: ConfiguredRights): KnownGrant {
  const controller = new AbortController();
  const known: KnownGrant = {
    keyId: key.keyId,
    hash: key.hash,
    controller,
    caller: callerOf(key, rights),
    grant: {
      get caller() {
        return known.caller;
      },
      signal: controller.signal,
    },
  };
  return known;
}

function callerOf(
  { keyId, isPublishable }: ConfiguredKey,
  { limits, publicKeyOrigins }: ConfiguredRights,
): Caller {
  const rights = isPublishable ? { publishable: { origins: publicKeyOrigins, addressRate: limits } } : {};
  return { keyId, limits, allowedTargets: undefined, caps: undefined, ...rights };
}
