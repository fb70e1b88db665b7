import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { hashOfKey, keyIdIn } from "../keys/apiKey.js";
import type { Grant } from "../keys/cachedKey.js";
import type { ConfiguredGrants } from "../keys/configuredGrants.js";
import type { KeyDirectory } from "../keys/directory.js";
import { type Caller, type KeyLimits, partyOf } from "../model/keys/caller.js";
import { addressGroup, addressSite } from "../model/options/networkAddress.js";
import { isOriginOfKey } from "../model/options/origins.js";
import type { AddressedRequest, ClientAddress } from "./clientAddress.js";
import type { FailedAuthentications } from "./limits/failedAuthentications.js";
import type { RequestParty } from "./limits/requestTurns.js";

/** Finds the API key of a request, and what the key permits. */
export type Authenticator = ReturnType<typeof createAuthenticator>;

/** A request to the service, before any of its parts is validated. */
export type ApiRequest = FastifyRequest<{
  Params: Readonly<Record<string, string>>;
  Querystring: Readonly<Record<string, unknown>>;
}>;

/** A request of a route that needs an API key. */
export type AuthenticatedRequest = ApiRequest & Readonly<RequestKey>;

interface RequestKey {
  /** The key's limits and rights when the head of the request had arrived, then when all of it had. */
  caller: Caller;
  /** Follows changes of the key, for routes with long responses. */
  grant: Grant;
}

export interface AuthenticatorDependencies {
  /** The keys of the configuration. */
  readonly configuredKeys: Pick<ConfiguredGrants, "all">;
  /** The keys of the store. */
  readonly directory: Pick<KeyDirectory, "authenticate">;
  readonly clientAddress: ClientAddress;
  readonly failures: Pick<FailedAuthentications, "assertMayGuess" | "addValid">;
}

/** Accepts the keys of the configuration and of the store. Keys are compared by their hashes, in constant time. */
export function createAuthenticator(dependencies: AuthenticatorDependencies) {
  const { configuredKeys, directory, clientAddress, failures } = dependencies;
  const hashOnce = hashOncePerRequest();
  return {
    /**
     * @returns for a publishable key (D32) a grant of its own, whose caller names the client's address.
     * @throws {@link ProtocolError} of code `UNAUTHORIZED`, such as `ORIGIN_NOT_ALLOWED`, or of reason `TOO_MANY_UNKNOWN_KEYS`. The message never repeats the key.
     */
    authenticate(request: AddressedRequest & PresentedRequest) {
      const key = presentedKey(request);
      if (key === undefined) {
        throw new ProtocolError("MISSING_KEY", missingKeyMessage(request));
      }
      const hash = hashOnce(request, key);
      // Compares every key, so that the duration does not tell which one came close.
      const [match] = configuredKeys.all.filter((candidate) => timingSafeEqual(candidate.hash, hash));
      // The secrets of the store's keys are too long for guesses, so those keys need not wait for a guesser at the same address.
      if (keyIdIn(key) === undefined) {
        const address = clientAddress(request);
        const keyId = match?.keyId;
        failures.assertMayGuess("api", address, keyId);
        if (keyId !== undefined) failures.addValid("api", address, keyId);
      }
      const grant = match?.grant ?? directory.authenticate(key, hash);
      const { publishable } = grant.caller;
      if (publishable === undefined) return isOfGateway(request) ? narrowedGrant(grant, {}, true) : grant;
      assertOrigin(request.headers.origin, publishable.origins);
      return narrowedGrant(grant, placeOf(clientAddress(request)), isOfGateway(request));
    },
  };
}

/**
 * A request is authenticated twice in a row: before its turn, and again at its route, because the key may be revoked in
 * between.
 */
function hashOncePerRequest(): (request: object, key: string) => Buffer {
  let last: { readonly request: object; readonly hash: Buffer } | undefined;
  return (request, key) => {
    if (last?.request !== request) last = { request, hash: hashOfKey(key) };
    return last.hash;
  };
}

/** D32: no page of another origin may use the key in its visitors' browsers. */
function assertOrigin(origin: string | undefined, origins: readonly string[]): void {
  if (isOriginOfKey(origin, origins)) return;
  const message =
    origin === undefined
      ? "this publishable key is for pages, and the request names no origin; `wallets` among the key's origins lets programs and wallets use it"
      : "this publishable key is not for pages of this origin";
  throw new ProtocolError("ORIGIN_NOT_ALLOWED", message);
}

/** Follows changes of the key, as the key's own grant does. */
function narrowedGrant(grant: Grant, place: Pick<Caller, "address" | "site">, isOfGateway: boolean): Grant {
  return {
    get caller() {
      const { caller } = grant;
      return { ...caller, ...place, ...(isOfGateway && { limits: gatewayLimits(caller.limits) }) };
    },
    signal: grant.signal,
  };
}

function placeOf(clientAddress: string): Pick<Caller, "address" | "site"> {
  const site = addressSite(clientAddress);
  return { address: addressGroup(clientAddress), ...(site !== undefined && { site }) };
}

/**
 * A message of the gateway, whose parameters are read and written in one turn of the event loop. A transaction with the longest calldata
 * of the default fits.
 */
export const GATEWAY_BODY_BYTES = 262_144;
/** A message has at most so many bytes beside the calldata, which is hex. */
const BYTES_BESIDE_CALLDATA = 572;

function gatewayLimits(limits: KeyLimits): KeyLimits {
  const largest = Math.max(GATEWAY_BODY_BYTES, 2 * limits.maxDataLength + BYTES_BESIDE_CALLDATA);
  return { ...limits, maxBodyBytes: Math.min(limits.maxBodyBytes ?? largest, largest) };
}

/** A key in the path of the gateway (D32). Secret keys are not taken from a URL, which proxies log. */
const KEY_IN_PATH = /^\/rpc\/(gwp_\w+)(?:[/?]|$)/;
/** A key among the subprotocols of a WebSocket's handshake (D32), because a page can set no header field of it. */
const KEY_IN_SUBPROTOCOL = /(?:^|,)[ \t]*bearer\.(gwp_\w+)[ \t]*(?:,|$)/;

/** Reads the key of a request: a bearer, or a publishable key in the gateway's path or as a subprotocol. */
export function presentedKey({ headers, url }: PresentedRequest): string | undefined {
  return (
    bearerOf(headers.authorization) ??
    KEY_IN_PATH.exec(url ?? "")?.[1] ??
    KEY_IN_SUBPROTOCOL.exec(headers["sec-websocket-protocol"] ?? "")?.[1]
  );
}

/** Whoever gave a wallet the URL of the gateway sees this message, and can set no header. */
function missingKeyMessage(request: PresentedRequest): string {
  return isOfGateway(request)
    ? "the URL has no publishable key: it ends in `/rpc/gwp_…`"
    : "the request has no header `Authorization: Bearer <API key>`";
}

function isOfGateway({ url = "" }: PresentedRequest): boolean {
  return url.startsWith("/rpc/");
}

type PresentedRequest = Pick<IncomingMessage, "headers"> & { readonly url?: string | undefined };

/** Reads the key or token of an `Authorization` header. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +([^\s]+) *$/i.exec(authorization ?? "")?.[1];
}

/**
 * Makes every route of this scope need an API key. The first hook runs before the body is read, so that
 * a body without a valid key takes no memory, and the second one behind it: a body may take a minute, and a change of the key binds
 * within seconds. The handlers of the scope find the key as {@link AuthenticatedRequest} describes.
 */
export function requireApiKey(scope: FastifyInstance, authenticator: Authenticator): void {
  scope.decorateRequest("caller");
  scope.decorateRequest("grant");
  scope.addHook("onRequest", (request: FastifyRequest & Partial<RequestKey>, _reply, done) => {
    try {
      request.grant = authenticator.authenticate(request.raw);
      request.caller = request.grant.caller;
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  });
  scope.addHook("preHandler", async (request: FastifyRequest & Partial<RequestKey>) => {
    const { grant } = request as FastifyRequest & RequestKey;
    grant.signal.throwIfAborted();
    request.caller = grant.caller;
  });
}

export interface PartyDependencies {
  readonly authenticator: Authenticator;
  readonly clientAddress: ClientAddress;
  readonly failures: Pick<FailedAuthentications, "add">;
}

/**
 * Finds the party of a request: its API key, or its address if it has no valid key. It runs once for each request, and so
 * counts the failed authentications.
 */
export function partyOfRequest(
  request: IncomingMessage,
  { authenticator, clientAddress, failures }: PartyDependencies,
): RequestParty {
  const key = presentedKey(request);
  try {
    const grant = authenticator.authenticate(request);
    return { name: partyOf(grant.caller), grant };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const address = clientAddress(request);
    if (error.code === "UNAUTHORIZED" && error.reason !== "MISSING_KEY") {
      const keyId = keyIdIn(key ?? "");
      failures.add({ interface: "api", address, reason: error.reason, ...(keyId && { keyId }) });
    }
    // A flood of bad keys must not delay the probes of a load balancer at the same address.
    const hasNone = key === undefined && request.headers.authorization === undefined;
    const kind = hasNone ? "keyless" : "refused";
    return { name: `${kind} ${addressGroup(address)}` };
  }
}
