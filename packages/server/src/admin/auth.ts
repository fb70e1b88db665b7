import { timingSafeEqual } from "node:crypto";
import { ProtocolError } from "@gas-waiver/protocol";
import { hashOfKey } from "../keys/apiKey.js";
import type { AdminToken } from "../model/adminToken.js";

/**
 * Authenticates operators by the `Authorization` header. Compares the tokens by their hashes, in constant time.
 * @returns a function that returns the operator's name for the audit, or throws {@link ProtocolError}.
 */
export function createAdminAuthenticator(tokens: readonly AdminToken[]) {
  const known = tokens.map(({ name, token }) => ({ name, hash: hashOfKey(token) }));
  return (authorization: string | undefined): string => {
    const token = /^Bearer +([^\s]+) *$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) {
      throw new ProtocolError(
        "MISSING_KEY",
        "the request has no header `Authorization: Bearer <admin token>`",
      );
    }
    const hash = hashOfKey(token);
    const [match] = known.filter((candidate) => timingSafeEqual(candidate.hash, hash));
    if (match === undefined) throw new ProtocolError("UNKNOWN_KEY", "the admin token is not known");
    return `admin token ${match.name}`;
  };
}
