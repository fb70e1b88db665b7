import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import {
  bytesToHex,
  hexToBytes,
  publicKeyToAddress,
  type Signature,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import { StartError } from "../model/errors.js";
import { isLoopbackHost } from "../model/options/networkAddress.js";
import { CustodyThrottledError } from "../signing/custodyCalls.js";

/** The two sides of mutual TLS, as PEM. */
export interface Web3SignerTls {
  /** The issuer of the signer's certificate. Default: those that Node knows. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface Web3SignerOptions {
  /** The address of a Web3Signer with the eth1 interface, such as `https://signer.internal:9000`. */
  readonly url: string;
  /** The waivers' addresses, 20 bytes each. */
  readonly waivers: readonly Uint8Array[];
  readonly tls?: Web3SignerTls;
  /** The time that an answer may take. Default: 10 s. */
  readonly timeoutMs?: number;
  /** The connections at once; each carries one signature at a time. Default: 256. */
  readonly maxSockets?: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number | undefined;
}

type Call = (method: "GET" | "POST", path: string, body?: object) => Promise<Answer>;

const MAX_ANSWER_BYTES = 4 * 1_048_576;

/**
 * Opens the waivers whose keys a Web3Signer has. It signs by `POST /api/v1/eth1/sign/<public key>`, which hashes the
 * transaction itself; its JSON-RPC has no method that signs a wrapper without knowing the chain's rules.
 * @throws {@link StartError} if it cannot be reached, or does not have a waiver's key.
 * @example
 * ```ts
 * const waivers = await openWeb3Signer({ url: "https://signer.internal:9000", waivers: [address], tls });
 * ```
 */
export async function openWeb3Signer({
  url,
  waivers,
  tls = {},
  timeoutMs = 10_000,
  maxSockets = 256,
}: Web3SignerOptions): Promise<WaiverAccount[]> {
  const call = createCall(new URL(url), tls, { timeoutMs, maxSockets });
  const publicKeys = await readPublicKeys(call, url);
  const byAddress = new Map(publicKeys.map((key) => [bytesToHex(publicKeyToAddress(key)), key]));
  return waivers.map((address) => {
    const publicKey = byAddress.get(bytesToHex(address));
    if (publicKey !== undefined) return { address, sign: (_, message) => signAt(call, publicKey, message) };
    throw new StartError(
      `the Web3Signer at ${url} has no key of the waiver ${bytesToHex(address)}; it has ${byAddress.size} key(s)`,
    );
  });
}

/** The uncompressed public keys, 64 bytes each. */
async function readPublicKeys(call: Call, url: string): Promise<Uint8Array[]> {
  try {
    const { status, text } = await call("GET", "/api/v1/eth1/publicKeys");
    if (status !== 200) throw new Error(`it answered with status ${status}`);
    const keys: unknown = JSON.parse(text);
    if (!Array.isArray(keys)) throw new Error("it answered no list of public keys");
    return keys
      .map((key) => hexToBytes(String(key)))
      .map((key) => (key.length === 65 ? key.subarray(1) : key));
  } catch (error) {
    throw new StartError(`the Web3Signer at ${url} cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function signAt(
  call: Call,
  publicKey: Uint8Array,
  message: Uint8Array | undefined,
): Promise<Signature> {
  if (message === undefined) throw new Error("Web3Signer hashes by itself, and needs the message");
  const path = `/api/v1/eth1/sign/${bytesToHex(publicKey)}`;
  const { status, text, retryAfterMs } = await call("POST", path, { data: bytesToHex(message) });
  if (status === 429 || status === 503) {
    throw new CustodyThrottledError(retryAfterMs === undefined ? {} : { retryAfterMs });
  }
  if (status !== 200) throw new Error(`the Web3Signer answered with status ${status}`);
  const signature = /^0x[0-9a-f]{130}$/i.test(text.trim()) ? hexToBytes(text.trim()) : undefined;
  const v = signature?.[64];
  if (signature === undefined || (v !== 27 && v !== 28))
    throw new Error("the Web3Signer answered no signature");
  return { compact: signature.subarray(0, 64), yParity: v === 27 ? 0 : 1 };
}

interface CallLimits {
  readonly timeoutMs: number;
  readonly maxSockets: number;
}

/** @throws {@link StartError} if the signer could be overheard. */
function createCall(base: URL, tls: Web3SignerTls, { timeoutMs, maxSockets }: CallLimits): Call {
  const isSecure = base.protocol === "https:";
  if (!isSecure && !isLoopbackHost(base.hostname)) {
    throw new StartError(`the Web3Signer at ${base.origin} is on another machine, and needs https`);
  }
  const limits = { keepAlive: true, maxSockets };
  const agent = isSecure
    ? new HttpsAgent({ ...limits, ...tls, minVersion: "TLSv1.2" })
    : new HttpAgent(limits);
  const request = isSecure ? httpsRequest : httpRequest;
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const text = body && JSON.stringify(body);
      const headers = { accept: "*/*", ...(text && { "content-type": "application/json" }) };
      const target = new URL(`${base.pathname.replace(/\/$/, "")}${path}`, base);
      const signal = AbortSignal.timeout(timeoutMs);
      const sent = request(target, { method, headers, agent, signal }, (response) => {
        readAnswer(response).then(resolve, reject);
      });
      sent.on("error", (error) => {
        reject(signal.aborted ? new Error(`no answer within ${timeoutMs} ms`) : error);
      });
      sent.end(text);
    });
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  let text = "";
  for await (const part of response.setEncoding("utf8")) {
    text += part;
    if (text.length > MAX_ANSWER_BYTES) throw new Error("the answer is too long");
  }
  const seconds = Number(response.headers["retry-after"]);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  return { status: response.statusCode ?? 0, text, retryAfterMs };
}
