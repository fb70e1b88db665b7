import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { hashOfKey } from "../keys/apiKey.js";
import type { Grant } from "../keys/cachedKey.js";
import type { KeyDirectory } from "../keys/directory.js";
import type { Caller, KeyLimits } from "../model/caller.js";
import { addressGroup } from "../model/networkAddress.js";
import type { ClientAddress } from "./clientAddress.js";
import type { RequestParty } from "./limits/requestTurns.js";

/** Finds the API key of a request by its `Authorization` header. */
export interface Authenticator {
  /** @throws {@link ProtocolError} of code `UNAUTHORIZED`. The message never repeats the key. */
  authenticate(authorization: string | undefined): Grant;
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

/**
 * Accepts the keys of the configuration, which have the service's limits, and the keys of the store. Keys are compared
 * by their hashes, in constant time.
 */
export function createAuthenticator(
  apiKeys: readonly string[],
  limits: KeyLimits,
  directory: Pick<KeyDirectory, "authenticate">,
): Authenticator {
  const configured = apiKeys.map((key) => {
    const hash = hashOfKey(key);
    const caller = { keyId: keyIdOf(hash), limits, allowedTargets: undefined, caps: undefined };
    // A configured key is valid as long as the process runs, so this signal never fires.
    const { signal } = new AbortController();
    const grant: Grant = { caller, signal };
    return { hash, grant };
  });
  return {
    authenticate(authorization) {
      const key = /^Bearer +([^\s]+) *$/i.exec(authorization ?? "")?.[1];
      if (key === undefined) {
        throw new ProtocolError("MISSING_KEY", "the request has no header `Authorization: Bearer <API key>`");
      }
      const hash = hashOfKey(key);
      // Compares every key, so that the duration does not tell which one came close.
      const [match] = configured.filter((candidate) => timingSafeEqual(candidate.hash, hash));
      return match?.grant ?? directory.authenticate(key, hash);
    },
  };
}

/** Names a configured key without revealing it. */
function keyIdOf(hash: Buffer): string {
  return hash.toString("hex").slice(0, 16);
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
      request.grant = authenticator.authenticate(request.headers.authorization);
      request.caller = request.grant.caller;
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  });
}

/** @returns the party of a request: its API key, or its address if it has no valid key. */
export function partyOfRequest(
  request: IncomingMessage,
  authenticator: Authenticator,
  clientAddress: ClientAddress,
): RequestParty {
  const { headers } = request;
  try {
    const { caller } = authenticator.authenticate(headers.authorization);
    return { name: partyOfKey(caller), hasKey: true };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // A flood of bad keys must not delay the probes of a load balancer at the same address.
    const kind = headers.authorization === undefined ? "without a key" : "with a bad key";
    return { name: `${addressGroup(clientAddress(request))} ${kind}`, hasKey: false };
  }
}

/** @returns the name of the key's party in `PartyTurns`. */
export function partyOfKey({ keyId }: Pick<Caller, "keyId">): string {
  return `key ${keyId}`;
}
