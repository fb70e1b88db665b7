import { createHmac } from "node:crypto";
import { PUBLISHABLE_PREFIX } from "@gas-waiver/protocol";
import type { AdminToken } from "../model/options/adminToken.js";
import {
  addConfiguredKey,
  findConfiguredKey,
  isKeyIdInUse,
  storeSecret,
} from "../store/keys/configuredKeys.js";
import type { Queryable } from "../store/store.js";
import { hashOfKey } from "./apiKey.js";

/** An API key of the configuration. */
export interface ConfiguredKey {
  /** Names the key without revealing it. */
  readonly keyId: string;
  /** SHA-256 of the key, in the memory of the process alone. */
  readonly hash: Buffer;
  /** Whether everybody may see the key (D32). Only `publicApiKeys` have such. */
  readonly isPublishable: boolean;
}

/**
 * Gives each API key of the configuration its id: a hash keyed with a secret of the store, so that nobody can check a
 * guess against an id in a log. Earlier versions used a plain hash; a key keeps such an id if the store still has it anywhere.
 */
export async function identifyKeys(
  store: { readonly pool: Queryable },
  keys: readonly string[],
): Promise<ConfiguredKey[]> {
  if (keys.length === 0) return [];
  const secret = await storeSecret(store, "configured keys");
  const identified: ConfiguredKey[] = [];
  for (const key of keys) {
    const hash = hashOfKey(key);
    const fingerprint = createHmac("sha256", secret).update(key).digest();
    const keyId =
      (await findConfiguredKey(store, fingerprint)) ??
      (await addConfiguredKey(store, fingerprint, await newId(store, hash, fingerprint)));
    identified.push({ keyId, hash, isPublishable: key.startsWith(PUBLISHABLE_PREFIX) });
  }
  return identified;
}

/** An admin token with an id, which names it in the audit without revealing it. */
export interface IdentifiedToken extends AdminToken {
  readonly id: string;
}

/** Gives each admin token its id, a hash keyed with a secret of the store. A new token of the same name has another one. */
export async function identifyTokens(
  store: { readonly pool: Queryable },
  tokens: readonly AdminToken[],
): Promise<IdentifiedToken[]> {
  if (tokens.length === 0) return [];
  const secret = await storeSecret(store, "admin tokens");
  return tokens.map((token) => ({
    ...token,
    id: idIn(createHmac("sha256", secret).update(token.token).digest()),
  }));
}

async function newId(
  store: { readonly pool: Queryable },
  hash: Buffer,
  fingerprint: Buffer,
): Promise<string> {
  const earlier = idIn(hash);
  return (await isKeyIdInUse(store, earlier)) ? earlier : idIn(fingerprint);
}

function idIn(hash: Buffer): string {
  return hash.toString("hex").slice(0, 16);
}
