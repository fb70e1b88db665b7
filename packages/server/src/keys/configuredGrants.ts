import type { Caller } from "../model/keys/caller.js";
import { OpenGrant, unknownKey } from "./cachedKey.js";
import type { ConfiguredKey } from "./configuredKeys.js";
import { PUBLISHABLE_LIMITS } from "./directory.js";

/** The rights of the keys of the configuration, which are those of the service. */
export type ConfiguredRights = Pick<Caller, "limits"> & {
  /** The origins that may use the publishable keys. */
  readonly publicKeyOrigins: readonly string[];
};

interface ConfiguredGrant extends Pick<ConfiguredKey, "keyId" | "hash"> {
  readonly grant: OpenGrant;
}

/** The API keys of the configuration and what they permit. Both may change while the service runs. */
export class ConfiguredGrants {
  #known: readonly ConfiguredGrant[] = [];

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
      const { keyId, hash } = key;
      const caller = callerOf(key, rights);
      const known = before.get(keyId) ?? { keyId, hash, grant: new OpenGrant(caller) };
      before.delete(keyId);
      known.grant.caller = caller;
      return known;
    });
    for (const { grant } of before.values()) grant.end(unknownKey());
  }
}

function callerOf(
  { keyId, isPublishable }: ConfiguredKey,
  { limits, publicKeyOrigins }: ConfiguredRights,
): Caller {
  const rights = { keyId, limits, allowedTargets: undefined, caps: undefined };
  if (!isPublishable) return rights;
  // A program that works with the key of development works with a publishable key of the store.
  const publishable = { origins: publicKeyOrigins, addressRate: limits };
  return { ...rights, limits: { ...limits, ...PUBLISHABLE_LIMITS }, publishable };
}
