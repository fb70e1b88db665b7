import { timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
import { ProtocolError } from "@gas-waiver/protocol";
import { hashOfKey } from "../keys/apiKey.js";
import type { Grant } from "../keys/cachedKey.js";
import type { KeyDirectory } from "../keys/directory.js";
import type { Caller, KeyLimits } from "../model/caller.js";

/** Finds out who calls by the `Authorization` header. */
export interface Authenticator {
  /**
   * Who calls, for a request that is answered at once.
   * @throws {@link ProtocolError} of code `UNAUTHORIZED`; the message never repeats the key.
   */
  authenticate(authorization: string | undefined): Caller;
  /** The same, for what lasts: it says when the key is no longer good. */
  admit(authorization: string | undefined): Grant;
}

/**
 * Keys of the configuration, which have the limits of the service, and keys of the store. They are compared by their
 * hashes, in constant time.
 */
export function createAuthenticator(
  apiKeys: readonly string[],
  limits: KeyLimits,
  directory: Pick<KeyDirectory, "admit">,
): Authenticator {
  const configured = apiKeys.map((key) => {
    const hash = hashOfKey(key);
    const caller = { keyId: keyIdOf(hash), limits, allowedTargets: undefined, caps: undefined };
    // It is good as long as the process. Every connection and stream of the key listens to it all the same.
    const { signal } = new AbortController();
    setMaxListeners(0, signal);
    const grant: Grant = { caller, signal };
    return { hash, grant };
  });
  const admit = (authorization: string | undefined): Grant => {
    const key = /^Bearer +([^\s]+) *$/i.exec(authorization ?? "")?.[1];
    if (key === undefined) {
      throw new ProtocolError("MISSING_KEY", "the request has no header `Authorization: Bearer <API key>`");
    }
    const hash = hashOfKey(key);
    // Every key is compared, so that the time tells nothing.
    const [match] = configured.filter((candidate) => timingSafeEqual(candidate.hash, hash));
    return match?.grant ?? directory.admit(key, hash);
  };
  return { admit, authenticate: (authorization) => admit(authorization).caller };
}

/** A name for a key of the configuration that gives nothing of it away. */
function keyIdOf(hash: Buffer): string {
  return hash.toString("hex").slice(0, 16);
}
