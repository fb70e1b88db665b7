import { CustodyThrottledError } from "../../signing/custodyCalls.js";
import { compactOfDer, otherCurve, pointOfPublicKey } from "../ecdsa.js";
import { importPeer } from "../importPeer.js";
import { given, type KmsKey, type KmsOptions } from "./kmsKey.js";
import type { GoogleKeyName } from "./kmsKeyName.js";

const ALGORITHM = "EC_SIGN_SECP256K1_SHA256";

/** The answer of a method, and what else the SDK gives with it. */
type GoogleAnswer<T> = Promise<readonly [T, ...unknown[]]>;
type Bytes = Uint8Array | string | null;

/** The part of `@google-cloud/kms` that the custody uses. */
export interface GoogleSdk {
  readonly KeyManagementServiceClient: new (
    options: Readonly<Record<string, string | number | boolean | object>>,
  ) => {
    initialize(): Promise<unknown>;
    getPublicKey(
      request: object,
      options: object,
    ): GoogleAnswer<{ readonly algorithm?: unknown; readonly pem?: string | null }>;
    asymmetricSign(request: object, options: object): GoogleAnswer<{ readonly signature?: Bytes }>;
    encrypt(request: object, options: object): GoogleAnswer<{ readonly ciphertext?: Bytes }>;
    decrypt(request: object, options: object): GoogleAnswer<{ readonly plaintext?: Bytes }>;
  };
}

/** Opens a key of Google Cloud KMS over its REST interface. The SDK finds the application default credentials. */
export async function openGoogleKey(
  { id }: GoogleKeyName,
  { timeoutMs, endpoint }: KmsOptions & { readonly timeoutMs: number },
): Promise<KmsKey> {
  const { KeyManagementServiceClient } = await importPeer<GoogleSdk>("@google-cloud/kms");
  const client = new KeyManagementServiceClient({
    fallback: true,
    // The SDK would look the project up over the network otherwise.
    ...{ projectId: id.split("/")[1] ?? "", clientOptions: { transporterOptions: { timeout: timeoutMs } } },
    ...(endpoint && addressOf(endpoint)),
  });
  // The lane tries again, at the rate that the service allows.
  const options = { timeout: timeoutMs, retry: null };
  const call = async <T>(answer: GoogleAnswer<T>): Promise<T> => {
    try {
      return (await answer)[0];
    } catch (error) {
      throw translate(error as Error, timeoutMs);
    }
  };
  // A method that finds no credentials rejects a promise that nobody can handle, which would end the process.
  await client.initialize().catch((error: Error) => {
    throw translate(error, timeoutMs);
  });
  // The service finds the version that decrypts by itself.
  const cryptoKey = id.replace(/\/cryptoKeyVersions\/\d+$/, "");
  return {
    async readPublicKey() {
      const { algorithm, pem } = await call(client.getPublicKey({ name: id }, options));
      if (algorithm !== ALGORITHM) throw otherCurve(String(algorithm));
      return pointOfPublicKey(pem ?? "");
    },
    async sign(hash) {
      // The service does not hash; it takes any 32 bytes as a digest of SHA-256.
      const request = { name: id, digest: { sha256: hash } };
      return compactOfDer(given((await call(client.asymmetricSign(request, options))).signature));
    },
    async encrypt(secret, context) {
      const request = {
        name: cryptoKey,
        plaintext: secret,
        additionalAuthenticatedData: Buffer.from(context),
      };
      return {
        ciphertext: given((await call(client.encrypt(request, options))).ciphertext),
        key: cryptoKey,
      };
    },
    async decrypt(ciphertext, context) {
      const request = { name: cryptoKey, ciphertext, additionalAuthenticatedData: Buffer.from(context) };
      return given((await call(client.decrypt(request, options))).plaintext);
    },
  };
}

function addressOf(endpoint: string) {
  const { protocol, hostname, port } = new URL(endpoint);
  const name = protocol.replace(":", "");
  return { apiEndpoint: hostname, port: Number(port) || (name === "https" ? 443 : 80), protocol: name };
}

/** An error of the REST interface, as `google.rpc.Status` in JSON. */
interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly details?: readonly { readonly retryDelay?: string }[];
}

const REASONS: Readonly<Record<string, string>> = {
  INVALID_ARGUMENT: "the request does not fit the key",
  FAILED_PRECONDITION: "it is not enabled, or has another purpose",
  NOT_FOUND: "there is no such key",
  PERMISSION_DENIED: "this identity may not use it, or there is no such key",
  UNAUTHENTICATED: "Google does not take the credentials",
};

function translate(error: Error, timeoutMs: number): Error {
  const { message } = error;
  if (isTimeOut(error)) return new Error(`no answer within ${timeoutMs} ms`, { cause: error });
  if (/default credentials/.test(message))
    return new Error(`there are no credentials of Google Cloud (${message})`, { cause: error });
  const { status = "", message: said = message, details = [] } = statusOf(message);
  if (status === "RESOURCE_EXHAUSTED") {
    const seconds = Number.parseFloat(details.find(({ retryDelay }) => retryDelay)?.retryDelay ?? "0");
    return new CustodyThrottledError({ ...(seconds > 0 && { retryAfterMs: seconds * 1_000 }), cause: error });
  }
  const reason = REASONS[status];
  return new Error(reason === undefined ? said : `${reason} (${status}: ${said})`, { cause: error });
}

/** The SDK's transport gives the body of an error as its message. */
function statusOf(message: string): Status {
  try {
    return (JSON.parse(message) as { readonly error?: Status }).error ?? {};
  } catch {
    return {};
  }
}

function isTimeOut(error: unknown): boolean {
  const { name, cause } = error as Error;
  return name === "TimeoutError" || name === "AbortError" || (cause instanceof Error && isTimeOut(cause));
}
