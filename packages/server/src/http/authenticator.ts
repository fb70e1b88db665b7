import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { hashOfKey, keyIdIn } from "../keys/apiKey.js";
import type { Grant } from "../keys/cachedKey.js";
import type { ConfiguredKey } from "../keys/configuredKeys.js";
import type { KeyDirectory } from "../keys/directory.js";
import type { Caller, KeyLimits } from "../model/caller.js";
import { addressGroup } from "../model/networkAddress.js";
import type { AddressedRequest, ClientAddress } from "./clientAddress.js";
import type { FailedAuthentications } from "./limits/failedAuthentications.js";
import type { RequestParty } from "./limits/requestTurns.js";

/** Finds the API key of a request by its `Authorization` header. */
export interface Authenticator {
  /**
   * @throws {@link ProtocolError} of code `UNAUTHORIZED`, or of reason `TOO_MANY_UNKNOWN_KEYS`. The message never repeats the key.
   */
  authenticate(request: AddressedRequest): Grant;
}

/** A request to the service, before any of its parts is validated. */
export type ApiRequest = FastifyRequest<{
  Params: Readonly<Record<string, string>>;
  Querystring: Readonly<Record<string, unknown>>;
}>;

/** A request of a route that needs an API key. */
export type AuthenticatedRequest = ApiRequest & Readonly<RequestKey>;

interface RequestKey {
  /** The key's limits and rights at the time of the request. */
  caller: Caller;
  /** Follows changes of the key, for routes with long responses. */
  grant: Grant;
}

export interface AuthenticatorDependencies {
  /** The keys of the configuration, which have the service's limits. */
  readonly configuredKeys: readonly ConfiguredKey[];
  readonly limits: KeyLimits;
  /** The keys of the store. */
  readonly directory: Pick<KeyDirectory, "authenticate">;
  readonly clientAddress: ClientAddress;
  readonly failures: Pick<FailedAuthentications, "assertMayGuess" | "addValid">;
}

/** Accepts the keys of the configuration and of the store. Keys are compared by their hashes, in constant time. */
export function createAuthenticator(dependencies: AuthenticatorDependencies): Authenticator {
  const { configuredKeys, limits, directory, clientAddress, failures } = dependencies;
  const configured = configuredKeys.map(({ keyId, hash }) => {
    const caller = { keyId, limits, allowedTargets: undefined, caps: undefined };
    // A configured key is valid as long as the process runs, so this signal never fires.
    const { signal } = new AbortController();
    const grant: Grant = { caller, signal };
    return { hash, grant };
  });
  return {
    authenticate(request) {
      const key = bearerOf(request.headers.authorization);
      if (key === undefined) {
        throw new ProtocolError("MISSING_KEY", "the request has no header `Authorization: Bearer <API key>`");
      }
      const hash = hashOfKey(key);
      // Compares every key, so that the duration does not tell which one came close.
      const [match] = configured.filter((candidate) => timingSafeEqual(candidate.hash, hash));
      // The secrets of the store's keys are too long for guesses, so those keys need not wait for a guesser at the same address.
      if (keyIdIn(key) === undefined) {
        const address = clientAddress(request);
        const keyId = match?.grant.caller.keyId;
        failures.assertMayGuess("api", address, keyId);
        if (keyId !== undefined) failures.addValid("api", address, keyId);
      }
      return match?.grant ?? directory.authenticate(key, hash);
    },
  };
}

/** Reads the key or token of an `Authorization` header. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer +([^\s]+) *$/i.exec(authorization ?? "")?.[1];
}

/**
 * Makes every route of this scope need an API key. The hook runs before the body is read, so that
 * a body without a valid key takes no memory. The handlers of the scope find the key as {@link AuthenticatedRequest} describes.
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
  const { authorization } = request.headers;
  try {
    const { caller } = authenticator.authenticate(request);
    return { name: partyOfKey(caller), hasKey: true };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const address = clientAddress(request);
    if (error.code === "UNAUTHORIZED" && error.reason !== "MISSING_KEY") {
      const keyId = keyIdIn(bearerOf(authorization) ?? "");
      failures.add({ interface: "api", address, reason: error.reason, ...(keyId && { keyId }) });
    }
    // A flood of bad keys must not delay the probes of a load balancer at the same address.
    const kind = authorization === undefined ? "without a key" : "with a bad key";
    return { name: `${addressGroup(address)} ${kind}`, hasKey: false };
  }
}

/** @returns the name of the key's party in `PartyTurns`. */
export function partyOfKey({ keyId }: Pick<Caller, "keyId">): string {
  return `key ${keyId}`;
}
