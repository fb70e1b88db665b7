import { CustodyThrottledError } from "../../signing/custodyCalls.js";
import { otherCurve } from "../ecdsa.js";
import { importPeer } from "../importPeer.js";
import { type CallOptions, createCalls } from "./abortableCall.js";
import type { KmsKey, KmsOptions } from "./kmsKey.js";
import type { AzureKeyName } from "./kmsKeyName.js";

/** Azure's name of secp256k1. */
const CURVE = "P-256K";
const WRAPPING = "RSA-OAEP-256";

/** The part of `@azure/identity` that the custody uses. */
export interface AzureIdentitySdk {
  readonly DefaultAzureCredential: new (options: object) => AzureCredential;
}

interface AzureCredential {
  getToken(scopes: string | string[]): Promise<{ token: string; expiresOnTimestamp: number }>;
}

/** The part of `@azure/keyvault-keys` that the custody uses. */
export interface AzureKeyVaultSdk {
  readonly KeyClient: new (
    vaultUrl: string,
    credential: AzureCredential,
    options: object,
  ) => { getKey(name: string, options: CallOptions & { readonly version?: string }): Promise<AzureKey> };
  readonly CryptographyClient: new (
    key: string | AzureKey,
    credential: AzureCredential,
    options: object,
  ) => AzureCryptography;
}

interface AzureKey {
  readonly name: string;
  readonly key?: {
    readonly kty?: string;
    readonly crv?: string;
    readonly x?: Uint8Array;
    readonly y?: Uint8Array;
  };
  readonly properties: { readonly enabled?: boolean; readonly name: string; readonly vaultUrl: string };
}

interface AzureCryptography {
  sign(algorithm: "ES256K", hash: Uint8Array, options: CallOptions): Promise<{ readonly result: Uint8Array }>;
  wrapKey(
    algorithm: typeof WRAPPING,
    secret: Uint8Array,
    options: CallOptions,
  ): Promise<{ readonly result: Uint8Array; readonly keyID?: string }>;
  unwrapKey(
    algorithm: typeof WRAPPING,
    ciphertext: Uint8Array,
    options: CallOptions,
  ): Promise<{ readonly result: Uint8Array }>;
}

/** Opens a key of an Azure Key Vault, or of a managed HSM. The SDK finds the credentials by its default chain. */
export async function openAzureKey(
  { id, vaultUrl, name, version }: AzureKeyName,
  { timeoutMs, agent }: KmsOptions & { readonly timeoutMs: number },
): Promise<KmsKey> {
  const { CryptographyClient, KeyClient } = await importPeer<AzureKeyVaultSdk>("@azure/keyvault-keys");
  const { DefaultAzureCredential } = await importPeer<AzureIdentitySdk>("@azure/identity");
  // The lane tries again, at the rate that the service allows.
  const options = { retryOptions: { maxRetries: 0 }, ...(agent && { agent }) };
  const credential = new DefaultAzureCredential(options);
  const keys = new KeyClient(vaultUrl, credential, options);
  const call = createCalls(timeoutMs, translate);
  const readKey = () => call((given) => keys.getKey(name, { ...given, ...(version && { version }) }));
  let cryptography: Promise<AzureCryptography> | undefined;
  /** The key is read once; a key without a version is the newest one of that time. */
  const opened = () => {
    cryptography ??= readKey().then((key) => new CryptographyClient(key, credential, options));
    return cryptography;
  };
  return {
    async readPublicKey() {
      const key = await readKey();
      const { kty, crv, x, y } = key.key ?? {};
      if (crv !== CURVE || !x || !y) throw otherCurve(crv ?? kty ?? "an unknown kind");
      if (key.properties.enabled === false) throw new Error("it is disabled");
      cryptography = Promise.resolve(new CryptographyClient(key, credential, options));
      return Buffer.concat([Buffer.from(x), Buffer.from(y)]);
    },
    async sign(hash) {
      const client = await opened();
      return (await call((given) => client.sign("ES256K", hash, given))).result;
    },
    async encrypt(secret) {
      const client = await opened();
      const { result, keyID } = await call((given) => client.wrapKey(WRAPPING, secret, given));
      return { ciphertext: result, key: keyID ?? id };
    },
    async decrypt(ciphertext) {
      const client = new CryptographyClient(id, credential, options);
      return (await call((given) => client.unwrapKey(WRAPPING, ciphertext, given))).result;
    },
  };
}

interface AzureError extends Error {
  readonly statusCode?: number;
  readonly details?: {
    readonly error?: { readonly code?: string; readonly innererror?: { readonly code?: string } };
  };
  readonly response?: { readonly headers: { get(name: string): string | undefined } };
}

const THROTTLED = [429, 503];

function translate(error: AzureError): Error {
  const { name, message, statusCode = 0, details, response } = error;
  if (THROTTLED.includes(statusCode)) {
    const retryAfterMs = 1_000 * Number(response?.headers.get("retry-after") ?? 0);
    return new CustodyThrottledError({ ...(retryAfterMs > 0 && { retryAfterMs }), cause: error });
  }
  const inner = details?.error?.innererror?.code ?? details?.error?.code;
  return new Error(`${reasonOf(name, statusCode, inner)} (${oneLine(message)})`, { cause: error });
}

function reasonOf(name: string, statusCode: number, inner: string | undefined): string {
  if (inner === "KeyDisabled") return "it is disabled";
  if (statusCode === 404) return "there is no such key";
  if (statusCode === 403) return "this identity may not use it";
  if (statusCode === 401) return "the vault does not take the credentials";
  if (/Credential|Authentication/.test(name)) return "there are no credentials of Azure";
  return "the vault did not do it";
}

/** The default chain of credentials lists each one that it tried on a line of its own. */
function oneLine(message: string): string {
  return message
    .trim()
    .split(/\s*\n\s*/)
    .join("; ");
}
