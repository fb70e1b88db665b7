import { hostname } from "node:os";
import { bytesToHex, type WaiverAccount } from "@gas-waiver/protocol";
import { recordEvent } from "../store/audit/audit.js";
import type { Queryable } from "../store/store.js";
import type { ConfiguredKey, IdentifiedToken } from "./configuredKeys.js";

/** The secrets that the service has read, at its start or when it reads a file again. */
export interface ReadSecrets {
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
