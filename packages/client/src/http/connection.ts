import { parseRequestErrorBody, WireError, wasNeverSent } from "@gas-waiver/protocol/wire";
import {
  ConnectionFailedError,
  InvalidArgumentError,
  MalformedAnswerError,
  RequestRefusedError,
} from "../errors.js";

/** A service and a way to send requests to it. `submit`, `status` and the other functions of one request each take one. */
export interface Connection {
  /**
   * Sends one request, once. A connection never sends again by itself.
   * @returns the answer of a request that was not refused.
   * @throws RequestRefusedError, ConnectionFailedError, MalformedAnswerError, or the reason of an aborted signal.
   */
  request(route: Route, init?: RequestOptions): Promise<Response>;
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly authenticated: boolean;
}

interface RequestOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** A status outside of 2xx that is an answer to the request, and not a refusal. */
  readonly answerStatus?: number;
}

/** The address of the service, and how to talk to it. */
export interface ConnectionOptions {
  /** The service's base address, with or without a path: `http://127.0.0.1:8080`. */
  readonly url: string | URL;
  /** The API key. Every function but `health` needs it. In a page it is a publishable one (`gwp_…`), which may be seen. */
  readonly apiKey?: string;
  /**
   * Header fields of every request, such as the session of a server of yours; or a function that returns them for each one,
   * where they change. Those that the client sets itself stay as they are.
   */
  readonly headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>);
  /** `include` sends the cookies of another origin's server, as `fetch` has it. `same-origin` by default. */
  readonly credentials?: "include" | "omit" | "same-origin";
  /** The `fetch` to use, for a proxy, certificates or tests; the platform's own by default. */
  readonly fetch?: typeof globalThis.fetch;
}

type RequestHeaders = Readonly<Record<string, string>>;

/**
 * Creates a connection for the functions of this package. Bundlers leave out the functions that a page does not
 * import; `createWaiverClient` binds them all.
 * @throws InvalidArgumentError if the address or the key cannot be used; the key is not in the message.
 * @example
 * ```ts
 * import { createConnection, submit } from "@gas-waiver/client";
 *
 * const connection = createConnection({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * for await (const line of submit(connection, [signedTransaction])) console.log(line.success);
 * ```
 */
export function createConnection(options: ConnectionOptions): Connection {
  const { url, apiKey, headers: common, credentials, fetch } = options;
  const base = parseBaseUrl(url);
  if (apiKey !== undefined) assertApiKey(apiKey);
  const send: typeof globalThis.fetch = fetch ?? ((input, init) => globalThis.fetch(input, init));
  return {
    async request({ method, path, authenticated }, { query, headers, body, signal, answerStatus } = {}) {
      const address = `${base}${path}${query ? `?${new URLSearchParams(query)}` : ""}`;
      const fields = new Headers(typeof common === "function" ? await common() : common);
      for (const [name, value] of Object.entries(headers ?? {})) fields.set(name, value);
      if (body !== undefined) fields.set("content-type", "application/json");
      if (authenticated && apiKey !== undefined) fields.set("authorization", `Bearer ${apiKey}`);
      const init: RequestInit = {
        // A plain object, because the application's own fetch may spread it.
        ...{ method, headers: Object.fromEntries(fields) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
        ...(credentials && { credentials }),
      };
      const response = await send(address, init).catch((cause: unknown) => {
        if (signal?.aborted) throw signal.reason;
        throw new ConnectionFailedError(base, wasNeverSent(cause) ? "not_sent" : "unknown", cause);
      });
      if (response.ok || response.status === answerStatus) return response;
      const refusal = await readRefusal(response, signal);
      // Most nodes do not know the path, and say no more than that.
      const mayBeNode = refusal instanceof MalformedAnswerError && [404, 405].includes(refusal.status);
      if (mayBeNode && (await isNode(base, send, signal))) throw nodeInstead(refusal.status);
      throw refusal;
    },
  };
}

/** @throws InvalidArgumentError for a key that `fetch` would refuse in a header, with a message that quotes the key. */
export function assertApiKey(apiKey: string): void {
  if (/^[\x21-\x7e]+$/.test(apiKey)) return;
  throw new InvalidArgumentError("the API key is empty or holds a character that no key has");
}

/**
 * Checks the service's address, and cuts it so that a path can follow.
 * @throws InvalidArgumentError for another scheme, or an address with credentials, a query or a fragment.
 */
export function parseBaseUrl(url: string | URL): string {
  const { protocol, username, password, origin, pathname, search, hash } = parseUrl(url);
  if (protocol !== "http:" && protocol !== "https:") {
    throw new InvalidArgumentError(
      `the address of the service begins with ${protocol}, not with http: or https:`,
    );
  }
  if (username !== "" || password !== "") {
    throw new InvalidArgumentError(
      "the address of the service holds a user name or password; pass the key as apiKey",
    );
  }
  if (search !== "" || hash !== "") {
    throw new InvalidArgumentError(
      "the address of the service ends in a query or fragment; pass the base address",
    );
  }
  return origin + pathname.replace(/\/+$/, "");
}

/** Types do not hold for programs in JavaScript, nor for a variable of the environment that is not set. */
function parseUrl(url: string | URL): URL {
  try {
    return new URL(url);
  } catch {
    // The message of URL does not name the argument.
    throw new InvalidArgumentError(`url is ${url}; it must be the address of the service`);
  }
}

/** Asks as a program asks a node, without the key. */
async function isNode(
  base: string,
  send: typeof globalThis.fetch,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}';
  const headers = { "content-type": "application/json" };
  try {
    const answer = await send(base, { method: "POST", headers, body, ...(signal && { signal }) });
    return ((await answer.json()) as { readonly jsonrpc?: unknown }).jsonrpc === "2.0";
  } catch {
    return false;
  }
}

function nodeInstead(status: number): MalformedAnswerError {
  return new MalformedAnswerError(status, "this is a JSON-RPC node; pass the address of the service");
}

async function readRefusal(response: Response, signal: AbortSignal | undefined): Promise<Error> {
  const { status, redirected, url } = response;
  try {
    const { error } = parseRequestErrorBody(await response.json());
    // `fetch` drops the key, and often the body, on the way to another origin, such as from http to https.
    const hint = redirected ? `; the address redirects: pass the one behind it, ${new URL(url).origin}` : "";
    const body = { ...error, message: error.message + hint };
    return new RequestRefusedError(status, body, retryAfterMs(response.headers.get("retry-after")));
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    const what = cause instanceof WireError ? cause.message : "its body is not JSON";
    return new MalformedAnswerError(status, `the service answered with status ${status}, and ${what}`, {
      cause,
    });
  }
}

/** `Retry-After` is a number of seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMs(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
