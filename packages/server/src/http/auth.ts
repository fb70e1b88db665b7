import { createHash, timingSafeEqual } from "node:crypto";
import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller, KeyLimits } from "../caller.js";

/** Finds out who calls by the `Authorization` header. */
export interface Authenticator {
  /** @throws {@link ProtocolError} `MISSING_KEY` or `UNKNOWN_KEY`; the message never repeats the key. */
  authenticate(authorization: string | undefined): Caller;
}

/** Keys are compared by their hashes, in constant time. All have the same limits: those of the service. */
export function createAuthenticator(apiKeys: readonly string[], limits: KeyLimits): Authenticator {
  const known = apiKeys.map((key) => {
    const caller: Caller = { keyId: keyIdOf(key), limits, allowedTargets: undefined, caps: undefined };
    return { hash: sha256(key), caller };
  });
  return {
    authenticate(authorization) {
      const key = /^Bearer +([^\s]+) *$/i.exec(authorization ?? "")?.[1];
      if (key === undefined) {
        throw new ProtocolError("MISSING_KEY", "the request has no header `Authorization: Bearer <API key>`");
      }
      const hash = sha256(key);
      // Every key is compared, so that the time tells nothing.
      const matches = known.filter((candidate) => timingSafeEqual(candidate.hash, hash));
      if (matches[0] === undefined) throw new ProtocolError("UNKNOWN_KEY", "the API key is not known");
      return matches[0].caller;
    },
  };
}

/** A name for the key that gives nothing of it away. */
function keyIdOf(key: string): string {
  return sha256(key).toString("hex").slice(0, 16);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
