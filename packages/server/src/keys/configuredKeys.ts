import { createHmac } from "node:crypto";
import { hostname } from "node:os";
import { bytesToHex, PUBLISHABLE_PREFIX, type WaiverAccount } from "@gas-waiver/protocol";
import type { AdminToken } from "../model/options/adminToken.js";
import { recordEvent } from "../store/audit/audit.js";
import { storeSecret } from "../store/keys/storeSecret.js";
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
 * guess against an id in a log.
 */
export async function identifyKeys(
  store: { readonly pool: Queryable },
  keys: readonly string[],
): Promise<ConfiguredKey[]> {
  if (keys.length === 0) return [];
  const secret = await storeSecret(store, "configured keys");
  return keys.map((key) => ({
    keyId: keyedId(secret, key),
    hash: hashOfKey(key),
    isPublishable: key.startsWith(PUBLISHABLE_PREFIX),
  }));
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
  return tokens.map((token) => ({ ...token, id: keyedId(secret, token.token) }));
}

function keyedId(secret: Buffer, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex").slice(0, 16);
}

/** The secrets that the service has read, at its start or when it reads a file again. */
interface ReadSecrets {
  readonly waivers?: readonly Pick<WaiverAccount, "address">[];
  readonly configuredKeys?: readonly ConfiguredKey[];
  readonly adminTokens?: readonly IdentifiedToken[];
}

/** Records in the audit which keys and tokens a service has read, by their addresses, ids and names. */
export async function recordSecretsRead(
  { pool }: { readonly pool: Queryable },
  { waivers, configuredKeys, adminTokens }: ReadSecrets,
): Promise<void> {
  const tokens = adminTokens?.map(({ id, name, role = "admin", expiresAt }) => ({
    id,
    name,
    role,
    expiresAt,
  }));
  const changes = {
    ...(waivers && { waivers: { to: waivers.map(({ address }) => bytesToHex(address)) } }),
    ...(configuredKeys && { apiKeys: { to: configuredKeys.map(({ keyId }) => keyId) } }),
    ...(tokens && { adminTokens: { to: tokens } }),
  };
  await recordEvent(pool, { actor: `service, ${hostname()}`, action: "read-secrets", changes });
}
