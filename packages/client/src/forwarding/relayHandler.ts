import { bytesToHex, crypto, ProtocolError } from "@gas-waiver/protocol";
import {
  CHECK_ROUTE,
  DEFAULT_MAX_BODY_BYTES,
  encodeSubmissionsQuery,
  IDEMPOTENCY_KEY,
  parseAnySubmissionRecord,
  parseIdempotencyKey,
  parseSimulate,
  parseSubmissionsQuery,
  parseSubmitRequest,
  parseWait,
  SUBMISSIONS_ROUTE,
  SUBMIT_ROUTE,
} from "@gas-waiver/protocol/wire";
import { InvalidArgumentError } from "../errors.js";
import { assertApiKey, parseBaseUrl } from "../http/connection.js";
import { readJsonBody } from "./readBody.js";
import { jsonResponse, noSuchSubmission, notAllowed, RelayRefusal, responseOf } from "./refusal.js";
import { passed, type RelayedService, readRecord, relayedService } from "./relayedService.js";
import { decodeRelayed, type RelayedTransaction } from "./relayedTransaction.js";
import { type RelayRoute, relayRouteOf } from "./relayRoute.js";

/** The service behind a relay, and the application's decisions. */
export interface RelayOptions {
  /** The service's base address: `http://127.0.0.1:8080`. Callers never see it. */
  readonly url: string | URL;
  /** The API key, a secret one. It leaves the relay towards the service alone. */
  readonly apiKey: string;
  /**
   * Decides whether a transaction may be sent, or checked. If one of a request may not, or the function throws, nothing of
   * the request is sent.
   * @param transaction the decoded transaction; its sender has signed it.
   * @param request the caller's request, for its session. Its body has been read.
   */
  allow(transaction: RelayedTransaction, request: Request): boolean | Promise<boolean>;
  /**
   * The accounts (0x hex) of the user who makes the request, as the application's own session knows them; none for a
   * stranger. A caller then sends for these accounts alone, and reads the records of these accounts alone, by id, by hash or
   * as a list. Without this function a record is read by its id alone, which only those have who sent its transaction.
   */
  readonly accounts?: (request: Request) => readonly string[] | Promise<readonly string[]>;
  /** The path below which the handler is mounted, such as `/api/gasless`; none by default. */
  readonly path?: string;
  /**
   * The origins of pages that may send, beside the relay's own: `https://app.example.com`. A server behind a proxy that
   * changes `Host` has to name its own, too. The handler answers no preflights; that is for the application's framework.
   */
  readonly origins?: readonly string[];
  /** The most transactions of one request; 10 by default. Decoding one takes about 2 ms. */
  readonly maxBatchSize?: number;
  /** The largest request body, in bytes; 1 MiB by default. */
  readonly maxBodyBytes?: number;
  /** Gets errors that callers are not shown: a service that is away or refuses the key, or what `allow` threw. */
  readonly onError?: (error: unknown) => void;
  /** The `fetch` to use; the platform's own by default. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Answers one request, whatever it is. It never rejects. */
export type RelayHandler = (request: Request) => Promise<Response>;

interface Relay extends RelayOptions {
  readonly service: RelayedService;
  readonly path: string;
}

/**
 * Creates a handler that adds the API key to the requests of an application's users. It passes on submits, checks and the
 * caller's own records, and nothing else; answers stream. It is a function from `Request` to `Response`, as Hono, Next.js and
 * workers take it; `nodeListener` makes a listener of it for Express, Fastify and `node:http`.
 *
 * Nothing of a request is passed on but its transactions, `wait`, `simulate` and a hash of the `Idempotency-Key` and the first
 * sender, so that no caller takes the names of another without bytes that this one has signed: with `accounts`, none does at all.
 * Pages of other origins are refused.
 * @throws InvalidArgumentError if the address, the key or the path cannot be used; the key is not in the message.
 * @example
 * ```ts
 * import { createRelayHandler } from "@gas-waiver/client/relay";
 *
 * const relay = createRelayHandler({
 *   url: "http://127.0.0.1:8080",
 *   apiKey: "gw_dev_local",
 *   path: "/api/gasless",
 *   allow: ({ to, selector }) => to === tokenAddress && selector === "0xa9059cbb",
 * });
 * const response = await relay(new Request("http://127.0.0.1/api/gasless/v1/submit", { method: "POST" }));
 * ```
 */
export function createRelayHandler(options: RelayOptions): RelayHandler {
  const { url, apiKey, path = "", fetch, onError = () => undefined } = options;
  assertApiKey(apiKey);
  if (!/^(?:\/[\w.~-]+)*$/.test(path)) {
    throw new InvalidArgumentError(
      "the path of the relay is not of the form /api/gasless, without a slash at the end",
    );
  }
  const send: typeof globalThis.fetch = fetch ?? ((input, init) => globalThis.fetch(input, init));
  const service = relayedService({ base: parseBaseUrl(url), apiKey, fetch: send, onError });
  const relay: Relay = { ...options, path, service };
  return async (request) => {
    try {
      return await answer(relay, request);
    } catch (error) {
      const response = responseOf(error);
      if (response.status === 500 && !(error instanceof RelayRefusal)) onError(error);
      return response;
    }
  };
}

async function answer(relay: Relay, request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const route = relayRouteOf(request.method, pathname, relay.path);
  assertOwnOrigin(request, relay.origins ?? []);
  switch (route.name) {
    case "submit":
    case "check":
      return await relayTransactions(relay, request, route.name, searchParams);
    case "record":
      return await relayRecord(relay, request, route);
    case "records":
      return await relayRecords(relay, request, searchParams);
  }
}

async function relayTransactions(
  relay: Relay,
  request: Request,
  name: "submit" | "check",
  searchParams: URLSearchParams,
): Promise<Response> {
  const { service, maxBatchSize = 10, maxBodyBytes = 1024 * 1024 } = relay;
  const body = await readJsonBody(request, Math.min(maxBodyBytes, DEFAULT_MAX_BODY_BYTES));
  // The body is written anew from the decoded values, so that the service reads what the relay has read.
  const { transactions, wait } = parseSubmitRequest(body, maxBatchSize);
  const decoded = decodeRelayed(transactions);
  await assertAllowed(relay, request, decoded);
  const { signal } = request;
  if (name === "check") {
    const query = { simulate: String(parseSimulate(onlyValue(searchParams, "simulate"))) };
    return passed(
      await service.send(CHECK_ROUTE.path, { method: "POST", query, body: { transactions }, signal }),
    );
  }
  const queried = onlyValue(searchParams, "wait");
  const query: Record<string, string> = queried === undefined ? {} : { wait: parseWait(queried) };
  const key = parseIdempotencyKey(request.headers.get(IDEMPOTENCY_KEY) ?? undefined);
  const headers: Record<string, string> =
    key === undefined ? {} : { [IDEMPOTENCY_KEY]: ownName(key, decoded[0]?.sender) };
  const sent = { method: "POST", query, headers, body: { transactions, wait }, signal } as const;
  return passed(await service.send(SUBMIT_ROUTE.path, sent));
}

/** Returns the name of a request among those of its first sender: at the service all callers have one API key. */
function ownName(key: string, sender: string | undefined): string {
  return bytesToHex(crypto.keccak256(new TextEncoder().encode(`${sender} ${key}`)));
}

/** Returns the value of a parameter. @throws ProtocolError if there are several: the service might take another one. */
function onlyValue(searchParams: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = searchParams.getAll(name);
  if (others.length === 0) return value;
  throw new ProtocolError("MALFORMED_QUERY", `${name} is there several times`, { parameter: name });
}

async function assertAllowed(
  relay: Relay,
  request: Request,
  transactions: readonly RelayedTransaction[],
): Promise<void> {
  const own = await ownAccounts(relay, request);
  for (const transaction of transactions) {
    const isOwn = own === undefined || own.has(transaction.sender);
    // Only `true` allows: a function that forgets to return a value allows nothing.
    const allowed: unknown = isOwn && (await relay.allow(transaction, request));
    if (allowed !== true) throw notAllowed(transaction.index);
  }
}

/** Returns the caller's accounts, or undefined where the application binds nobody to accounts. */
async function ownAccounts(relay: Relay, request: Request): Promise<ReadonlySet<string> | undefined> {
  if (relay.accounts === undefined) return undefined;
  // In JavaScript a session that is not found may give undefined: that is a stranger without accounts.
  const accounts: readonly string[] | undefined = await relay.accounts(request);
  return new Set((accounts ?? []).map((account) => account.toLowerCase()));
}

async function relayRecord(
  relay: Relay,
  request: Request,
  { id, isHash }: Extract<RelayRoute, { name: "record" }>,
): Promise<Response> {
  const own = await ownAccounts(relay, request);
  // Everybody can read hashes on the chain; an id is told to the caller of the submit alone.
  if (own === undefined && isHash) throw noSuchSubmission();
  const response = await readRecord(relay.service, id, request.signal);
  if (response.status !== 200 || own === undefined) return passed(response);
  const record = parseAnySubmissionRecord(await response.json());
  // A refused line whose bytes could not be read has no sender, and so belongs to nobody's accounts.
  if (record.sender === undefined || !own.has(record.sender.toLowerCase())) throw noSuchSubmission();
  return jsonResponse(200, record);
}

async function relayRecords(
  relay: Relay,
  request: Request,
  searchParams: URLSearchParams,
): Promise<Response> {
  const own = await ownAccounts(relay, request);
  if (own === undefined) throw new ProtocolError("NO_SUCH_PATH", "the relay has no such path");
  for (const name of searchParams.keys()) onlyValue(searchParams, name);
  const query = parseSubmissionsQuery(Object.fromEntries(searchParams));
  if (query.sender === undefined || !own.has(query.sender)) throw noSuchSubmission();
  const sent = { method: "GET", query: encodeSubmissionsQuery(query), signal: request.signal } as const;
  return passed(await relay.service.send(SUBMISSIONS_ROUTE.path, sent));
}

/**
 * Asserts that no page of another site has made the request: it would send with the session of its visitor. Programs name no
 * origin and pass.
 * @param origins of other pages that may.
 * @throws ProtocolError `ORIGIN_NOT_ALLOWED`.
 */
function assertOwnOrigin(request: Request, origins: readonly string[]): void {
  const { headers, url } = request;
  const origin = headers.get("origin");
  if (origin === null ? headers.get("sec-fetch-site") !== "cross-site" : origins.includes(origin)) return;
  const own = headers.get("host") ?? new URL(url).host;
  if (origin !== null && URL.canParse(origin) && new URL(origin).host === own) return;
  throw new ProtocolError("ORIGIN_NOT_ALLOWED", "a page of another origin made the request");
}
