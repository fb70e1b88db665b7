import { timingSafeEqual } from "node:crypto";
import { ProtocolError } from "@gas-waiver/protocol";
import { bearerOf } from "../http/authenticator.js";
import type { AddressedRequest, ClientAddress } from "../http/clientAddress.js";
import type { FailedAuthentications } from "../http/limits/failedAuthentications.js";
import { hashOfKey } from "../keys/apiKey.js";
import type { IdentifiedToken } from "../keys/configuredKeys.js";
import type { Actor } from "../model/keys/auditRecord.js";
import { type AdminRole, includesRole } from "../model/options/adminToken.js";

export interface AdminAuthenticatorDependencies {
  /** Returns the tokens, which may change while the service runs. */
  readonly tokens: () => readonly IdentifiedToken[];
  readonly clientAddress: ClientAddress;
  readonly failures: FailedAuthentications;
  /** Returns the time now. */
  readonly now?: () => Date;
}

/**
 * Authenticates operators by the `Authorization` header. Compares the tokens by their hashes, in constant time.
 * @returns a function that returns the actor for the audit, or throws {@link ProtocolError}. It counts each failure.
 */
export function createAdminAuthenticator(dependencies: AdminAuthenticatorDependencies) {
  const { tokens, clientAddress, failures, now = () => new Date() } = dependencies;
  const find = (authorization: string | undefined, address: string) => {
    const text = bearerOf(authorization);
    if (text === undefined) {
      throw new ProtocolError(
        "MISSING_KEY",
        "the request has no header `Authorization: Bearer <admin token>`",
      );
    }
    const hash = hashOfKey(text);
    const [match] = tokens().filter(({ token }) => timingSafeEqual(hashOfKey(token), hash));
    failures.assertMayGuess("admin", address, match?.id);
    if (match === undefined) throw new ProtocolError("UNKNOWN_KEY", "the admin token is not known");
    failures.addValid("admin", address, match.id);
    return match;
  };
  return (request: AddressedRequest, needed: AdminRole): Actor => {
    const address = clientAddress(request);
    let actor: string | undefined;
    try {
      const { name, id, role = "admin", expiresAt } = find(request.headers.authorization, address);
      actor = `admin token ${name}`;
      if (expiresAt !== undefined && expiresAt <= now()) {
        throw new ProtocolError("KEY_EXPIRED", "the admin token has expired");
      }
      if (!includesRole(role, needed)) {
        throw new ProtocolError("ROLE_TOO_LOW", `a token of role ${role} may not do this; ${needed} may`);
      }
      return { name: actor, tokenId: id, source: address };
    } catch (error) {
      if (error instanceof ProtocolError && isFailure(error))
        failures.add({ interface: "admin", address, reason: error.reason, ...(actor && { actor }) });
      throw error;
    }
  };
}

/** A request without a token is no attempt, and one that is slowed down was not looked at. */
function isFailure({ code, reason }: ProtocolError): boolean {
  return code === "UNAUTHORIZED" && reason !== "MISSING_KEY";
}
