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

export type ConfiguredGrants = ReturnType<typeof createConfiguredGrants>;

/** The API keys of the configuration and what they permit. Both may change while the service runs. */
export function createConfiguredGrants(given: readonly ConfiguredKey[], givenRights: ConfiguredRights) {
  let all: readonly ConfiguredGrant[] = [];
  /** Replaces the keys and their rights. The streams and connections of keys that are gone end. */
  const set = (keys: readonly ConfiguredKey[], rights: ConfiguredRights) => {
    const before = new Map(all.map((known) => [known.keyId, known]));
    all = keys.map((key) => {
      const { keyId, hash } = key;
      const caller = callerOf(key, rights);
      const known = before.get(keyId) ?? { keyId, hash, grant: new OpenGrant(caller) };
      before.delete(keyId);
      known.grant.caller = caller;
      return known;
    });
    for (const { grant } of before.values()) grant.end(unknownKey());
  };
  set(given, givenRights);
  return {
    set,
    get all() {
      return all;
    },
  };
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
