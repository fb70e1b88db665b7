import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { bodyOf, type KeyRole, KmsBackend, serveLocally, spkiOf } from "./kmsBackend.js";

const RING = "projects/example/locations/europe-west3/keyRings/relay/cryptoKeys";

export const GOOGLE_KEYS: Readonly<Record<KeyRole, string>> = {
  signing: `${RING}/waiver/cryptoKeyVersions/1`,
  sealing: `${RING}/sealing/cryptoKeyVersions/1`,
  disabled: `${RING}/waiver/cryptoKeyVersions/2`,
  forbidden: `${RING}/forbidden/cryptoKeyVersions/1`,
  "other curve": `${RING}/other/cryptoKeyVersions/1`,
  missing: `${RING}/waiver/cryptoKeyVersions/9`,
};
/** A key that encrypts is named without a version. */
export const GOOGLE_SEALING_KEY = `${RING}/sealing`;

const STATUS = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
} as const;

class GoogleError extends Error {
  constructor(
    readonly status: keyof typeof STATUS,
    message: string,
    readonly details: readonly object[] = [],
  ) {
    super(message);
  }
}

type Input = Readonly<Record<string, unknown>>;

/**
 * A model of Google Cloud KMS: its REST interface with OAuth 2.0 bearer tokens, and the Security Token Service that gives
 * one to a workload of another place for the token of its own identity.
 * @param folder the model writes the workload's files there.
 */
export async function startGoogleKms(folder: string) {
  const backend = new KmsBackend();
  const sealingSecret = randomBytes(32);
  const subjectToken = randomBytes(20).toString("hex");
  const accessToken = randomBytes(20).toString("hex");
  const audience =
    "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/relay/providers/cluster";
  const { port, close } = await serveLocally((request, response) => {
    void answer(request, response);
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await bodyOf(request)).toString();
    const send = (status: number, value: object) =>
      response
        .writeHead(status, { "content-type": "application/json; charset=UTF-8" })
        .end(JSON.stringify(value));
    const fail = (error: Error) => {
      const { status, message, details } = error as GoogleError;
      const code = STATUS[status] ?? 500;
      send(code, { error: { code, message, status, ...(details?.length && { details }) } });
    };
    const { pathname } = new URL(request.url ?? "/", "http://local");
    if (pathname === "/sts") return exchange(new URLSearchParams(body), send);
    try {
      if (request.headers.authorization !== `Bearer ${accessToken}`)
        throw new GoogleError("UNAUTHENTICATED", "Request had invalid authentication credentials.");
      const input = body === "" ? {} : (JSON.parse(body) as Input);
      const result = await perform(pathname.replace("/v1/", ""), input, response, fail);
      if (result) send(200, result);
    } catch (error) {
      fail(error as Error);
    }
  }

  function exchange(form: URLSearchParams, send: (status: number, value: object) => void): void {
    const isRight =
      form.get("grant_type") === "urn:ietf:params:oauth:grant-type:token-exchange" &&
      form.get("subject_token") === subjectToken &&
      form.get("audience") === audience &&
      form.get("scope")?.includes("auth/cloud");
    if (isRight)
      send(200, {
        access_token: accessToken,
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: 3_600,
      });
    else
      send(400, {
        error: "invalid_grant",
        error_description: "The subject token is not one of the provider.",
      });
  }

  async function perform(path: string, input: Input, response: ServerResponse, fail: (error: Error) => void) {
    const [, name = "", method] = /^(.*?)(?:\/publicKey|:(\w+))$/.exec(path) ?? [];
    if (method === "encrypt" || method === "decrypt") return seal(name, method, input);
    const found = roleOf(name);
    if (method === undefined) return publicKeyOf(found, name);
    if (method !== "asymmetricSign") throw new GoogleError("NOT_FOUND", "no such method");
    const hash = Buffer.from(String((input.digest as Input).sha256), "base64");
    if (hash.length !== 32) throw new GoogleError("INVALID_ARGUMENT", "digest.sha256 must be 32 bytes");
    const signature = await backend.sign(hash, response, {
      refuse: () => fail(new GoogleError("INTERNAL", "internal error")),
      throttle: () =>
        fail(
          new GoogleError(
            "RESOURCE_EXHAUSTED",
            "Quota exceeded for quota metric 'HSM asymmetric crypto requests'",
            [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1s" }],
          ),
        ),
    });
    return signature && { name, signature: Buffer.from(signature.toBytes("der")).toString("base64") };
  }

  function publicKeyOf(found: KeyRole, name: string): object {
    if (found === "sealing")
      throw new GoogleError("FAILED_PRECONDITION", `${name} has the purpose ENCRYPT_DECRYPT`);
    const isWaiver = found === "signing";
    const der = isWaiver
      ? spkiOf(backend.signingKey)
      : backend.otherCurve.export({ format: "der", type: "spki" });
    const lines = der.toString("base64").replace(/.{64}/g, "$&\n");
    return {
      name,
      pem: `-----BEGIN PUBLIC KEY-----\n${lines}\n-----END PUBLIC KEY-----\n`,
      // With numeric enumerations: EC_SIGN_SECP256K1_SHA256 and EC_SIGN_P256_SHA256.
      algorithm: isWaiver ? 31 : 12,
    };
  }

  function seal(name: string, method: "encrypt" | "decrypt", input: Input): object {
    if (name !== GOOGLE_SEALING_KEY) {
      roleOf(`${name}/cryptoKeyVersions/1`);
      throw new GoogleError("FAILED_PRECONDITION", `${name} has the purpose ASYMMETRIC_SIGN`);
    }
    const context = Buffer.from(String(input.additionalAuthenticatedData ?? ""), "base64");
    if (method === "encrypt") {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", sealingSecret, iv).setAAD(context);
      const text = Buffer.concat([cipher.update(String(input.plaintext), "base64"), cipher.final()]);
      return {
        name: `${name}/cryptoKeyVersions/1`,
        ciphertext: Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64"),
      };
    }
    const blob = Buffer.from(String(input.ciphertext), "base64");
    const decipher = createDecipheriv("aes-256-gcm", sealingSecret, blob.subarray(0, 12))
      .setAAD(context)
      .setAuthTag(blob.subarray(12, 28));
    try {
      return {
        plaintext: Buffer.concat([decipher.update(blob.subarray(28)), decipher.final()]).toString("base64"),
      };
    } catch {
      throw new GoogleError("INVALID_ARGUMENT", "Decryption failed: the ciphertext is invalid.");
    }
  }

  const url = `http://127.0.0.1:${port}`;
  writeFileSync(join(folder, "subject-token"), subjectToken);
  const credentials = join(folder, "credentials.json");
  writeFileSync(
    credentials,
    JSON.stringify({
      type: "external_account",
      audience,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `${url}/sts`,
      credential_source: { file: join(folder, "subject-token") },
    }),
  );
  return { backend, close, url, workload: { GOOGLE_APPLICATION_CREDENTIALS: credentials } };
}

function roleOf(name: string): KeyRole {
  const found = (Object.keys(GOOGLE_KEYS) as KeyRole[]).find((one) => GOOGLE_KEYS[one] === name);
  if (found === undefined || found === "missing")
    throw new GoogleError("NOT_FOUND", `CryptoKeyVersion ${name} not found.`);
  if (found === "forbidden")
    throw new GoogleError(
      "PERMISSION_DENIED",
      `Permission 'cloudkms.cryptoKeyVersions.viewPublicKey' denied on resource '${name}' (or it may not exist).`,
    );
  if (found === "disabled")
    throw new GoogleError("FAILED_PRECONDITION", `${name} is not enabled, current state is: DISABLED.`);
  return found;
}
