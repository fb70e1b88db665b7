import {
  constants,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
  sign,
  verify,
} from "node:crypto";
import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, type RequestOptions } from "node:https";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { makeCertificate } from "../certificate.js";
import { bodyOf, type KeyRole, KmsBackend, serveLocally, spkiOf } from "./kmsBackend.js";

const VAULT = "gas-waiver.vault.azure.net";
const VERSION = "0123456789abcdef0123456789abcdef";
const LOGIN = "login.microsoftonline.com";
const TENANT = "11111111-2222-4333-8444-555555555555";
const CLIENT = "66666666-7777-4888-8999-aaaaaaaaaaaa";
const RESOURCE = "https://vault.azure.net";

const urlOf = (name: string) => `https://${VAULT}/keys/${name}/${VERSION}`;

export const AZURE_KEYS: Readonly<Record<KeyRole, string>> = {
  signing: urlOf("waiver"),
  sealing: urlOf("sealing"),
  disabled: urlOf("disabled"),
  forbidden: urlOf("forbidden"),
  "other curve": urlOf("other"),
  missing: urlOf("missing"),
};
/** The newest version of the key that signs. */
export const AZURE_NEWEST_KEY = `https://${VAULT}/keys/waiver`;

const OAEP = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };

const base64url = (text: string | Uint8Array) => Buffer.from(text).toString("base64url");

class VaultError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly inner?: string,
  ) {
    super(message);
  }
}

type Input = Readonly<Record<string, string>>;
type Send = (status: number, value: object, headers?: Readonly<Record<string, string>>) => void;

/**
 * A model of an Azure Key Vault over TLS, which asks for a token by its challenge, and of the authority that gives one to a
 * workload for the token of its cluster.
 * @param folder the model writes the workload's file there.
 */
export async function startAzureKeyVault(folder: string) {
  const backend = new KmsBackend();
  const cluster = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const sealing = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const accessToken = randomBytes(20).toString("hex");
  const certificate = makeCertificate({ names: [VAULT, LOGIN] });
  const { port, close } = await serveLocally((request, response) => {
    void answer(request, response);
  }, certificate);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await bodyOf(request)).toString();
    const send: Send = (status, value, headers = {}) => {
      response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
      response.end(JSON.stringify(value));
    };
    const { pathname } = new URL(request.url ?? "/", "https://local");
    if (request.headers.host === LOGIN) return giveToken(pathname, new URLSearchParams(body), send);
    if (request.headers.authorization !== `Bearer ${accessToken}`) {
      const challenge = `Bearer authorization="https://${LOGIN}/${TENANT}", resource="${RESOURCE}"`;
      const error = { code: "Unauthorized", message: "AKV10000: Request is missing a Bearer or PoP token." };
      return send(401, { error }, { "www-authenticate": challenge });
    }
    try {
      const [, , name = "", , operation] = pathname.split("/");
      const result = await perform(name, operation, body, response, send);
      if (result) send(200, result);
    } catch (error) {
      const { status, code, message, inner } = error as VaultError;
      send(status ?? 500, { error: { code, message, ...(inner && { innererror: { code: inner } }) } });
    }
  }

  /** Checks the token of the cluster: its signature, its time, and for whom it is. */
  function isClusterToken(token: string | null): boolean {
    const [head = "", payload = "", signature = ""] = (token ?? "").split(".");
    const { exp = 0, aud } = JSON.parse(Buffer.from(payload, "base64url").toString() || "{}") as {
      exp?: number;
      aud?: string;
    };
    const isSigned = verify(
      "RSA-SHA256",
      Buffer.from(`${head}.${payload}`),
      cluster.publicKey,
      Buffer.from(signature, "base64url"),
    );
    return isSigned && exp * 1_000 > Date.now() && aud === "api://AzureADTokenExchange";
  }

  function giveToken(pathname: string, form: URLSearchParams, send: Send): void {
    const isRight =
      pathname === `/${TENANT}/oauth2/v2.0/token` &&
      form.get("grant_type") === "client_credentials" &&
      form.get("client_id") === CLIENT &&
      form.get("scope")?.includes(`${RESOURCE}/.default`) &&
      form.get("client_assertion_type") === "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" &&
      isClusterToken(form.get("client_assertion"));
    const error_description =
      "AADSTS700211: No matching federated identity record found for presented assertion issuer.";
    if (isRight) send(200, { token_type: "Bearer", expires_in: 3_600, access_token: accessToken });
    else send(401, { error: "invalid_client", error_description, error_codes: [700_211] });
  }

  async function perform(
    name: string,
    operation: string | undefined,
    body: string,
    response: ServerResponse,
    send: Send,
  ): Promise<object | undefined> {
    const found = (Object.keys(AZURE_KEYS) as KeyRole[]).find((one) => AZURE_KEYS[one] === urlOf(name));
    if (found === undefined || found === "missing")
      throw new VaultError(
        404,
        "KeyNotFound",
        `A key with (name/id) ${name} was not found in this key vault.`,
      );
    if (found === "forbidden")
      throw new VaultError(
        403,
        "Forbidden",
        "Caller is not authorized to perform action on resource.",
        "ForbiddenByRbac",
      );
    if (operation === undefined) return keyOf(found, name);
    // A disabled key can be read. It does nothing with its private part.
    if (found === "disabled")
      throw new VaultError(
        403,
        "Forbidden",
        `Operation ${operation} is not allowed on a disabled key.`,
        "KeyDisabled",
      );
    const input = JSON.parse(body || "{}") as Input;
    const value = Buffer.from(input.value ?? "", "base64url");
    if (operation === "sign" && found === "signing" && input.alg === "ES256K" && value.length === 32) {
      const signature = await backend.sign(value, response, {
        refuse: () => send(500, { error: { code: "InternalServerError", message: "internal error" } }),
        throttle: () => {
          const message =
            "Request was not processed because too many requests were received. Reason: VaultRequestTypeLimitReached";
          send(429, { error: { code: "Throttled", message } }, { "retry-after": "1" });
        },
      });
      return signature && { kid: urlOf(name), value: base64url(signature.toBytes("compact")) };
    }
    const isSealing = found === "sealing" && input.alg === "RSA-OAEP-256";
    if (operation === "wrapkey" && isSealing)
      return {
        kid: urlOf(name),
        value: base64url(publicEncrypt({ key: sealing.publicKey, ...OAEP }, value)),
      };
    if (operation === "unwrapkey" && isSealing) return unwrap(name, value);
    throw new VaultError(400, "BadParameter", "Operation is not permitted, or its parameters are wrong.");
  }

  function unwrap(name: string, value: Buffer): object {
    try {
      return {
        kid: urlOf(name),
        value: base64url(privateDecrypt({ key: sealing.privateKey, ...OAEP }, value)),
      };
    } catch {
      throw new VaultError(400, "BadParameter", "Decryption failed.");
    }
  }

  function keyOf(found: KeyRole, name: string): object {
    const time = Math.floor(Date.now() / 1_000);
    const attributes = { enabled: found !== "disabled", created: time, updated: time };
    const waiver = createPublicKey({ key: spkiOf(backend.signingKey), format: "der", type: "spki" });
    const jwk = (key: KeyObject) => key.export({ format: "jwk" });
    const operations = found === "sealing" ? ["wrapKey", "unwrapKey"] : ["sign", "verify"];
    const parts =
      found === "sealing"
        ? jwk(sealing.publicKey)
        : found === "other curve"
          ? jwk(backend.otherCurve)
          : { ...jwk(waiver), crv: "P-256K" };
    return { key: { ...parts, kid: urlOf(name), key_ops: operations }, attributes };
  }

  const payload = {
    iss: "https://cluster.example",
    sub: "system:serviceaccount:relay:gas-waiver",
    aud: "api://AzureADTokenExchange",
    exp: Math.floor(Date.now() / 1_000) + 3_600,
  };
  const token = signedToken(payload, cluster.privateKey);
  writeFileSync(join(folder, "federated-token"), token);
  return {
    backend,
    close,
    /** Leads the connections to Microsoft's hosts to this model, under their own names. */
    agent: new LocalAgent(port, certificate.cert),
    workload: {
      AZURE_TENANT_ID: TENANT,
      AZURE_CLIENT_ID: CLIENT,
      AZURE_FEDERATED_TOKEN_FILE: join(folder, "federated-token"),
    },
  };
}

function signedToken(payload: object, key: KeyObject): string {
  const parts = `${base64url(JSON.stringify({ alg: "RS256", typ: "JWT" }))}.${base64url(JSON.stringify(payload))}`;
  return `${parts}.${base64url(sign("RSA-SHA256", Buffer.from(parts), key))}`;
}

class LocalAgent extends Agent {
  readonly #port: number;

  constructor(port: number, ca: string) {
    super({ ca, keepAlive: true });
    this.#port = port;
  }

  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ) {
    return super.createConnection({ ...options, host: "127.0.0.1", port: this.#port }, callback);
  }
}
