import { timingSafeEqual } from "node:crypto";
import { ProtocolError, type Reason } from "@gas-waiver/protocol";
import type { Caller } from "../model/keys/caller.js";
import type { StoredKey } from "../store/keys/apiKeys.js";

/** The right that a valid key gives to a request, and to the connection or stream that the request opens. */
export interface Grant {
  /** The key's limits and rights now. Changes of the key show at once. */
  readonly caller: Caller;
  /** Aborted when the key stops being valid. The reason is a {@link ProtocolError}. */
  readonly signal: AbortSignal;
}

/** A grant that can be ended. */
export class OpenGrant implements Grant {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  caller: Caller;

  constructor(caller: Caller) {
    this.caller = caller;
  }

  end(reason: ProtocolError): void {
    this.#controller.abort(reason);
  }
}

/** One key of the store in the memory of a replica. */
export class CachedKey {
  #key: StoredKey;
  #caller: Caller;
  /** The open grants, by the hash of the secret that they were given to, in hex. */
  readonly #grants = new Map<string, OpenGrant>();

  constructor(key: StoredKey, caller: Caller) {
    this.#key = key;
    this.#caller = caller;
  }

  /** True if this version of the service does not understand the key's terms, and therefore refuses the key. */
  get isNotUnderstood(): boolean {
    return this.#key.notUnderstood !== undefined;
  }

  /** The origins that the key permits, if it is publishable and not revoked. */
  get origins(): readonly string[] {
    return this.#key.revokedAt ? [] : (this.#caller.publishable?.origins ?? []);
  }

  /** Applies a change of the key, from the next request on. Ends the grants that are no longer valid. */
  update(key: StoredKey, caller: Caller, now: Date): void {
    const areOriginsSame = sameOrigins(this.#caller, caller);
    this.#key = key;
    this.#caller = caller;
    for (const grant of this.#grants.values()) grant.caller = caller;
    // An open WebSocket may belong to a page that the key no longer permits. It connects again if the key does.
    if (!areOriginsSame)
      this.#endAll(refusal("ORIGIN_NOT_ALLOWED", "the origins of the API key have changed"));
    this.endInvalidGrants(now);
  }

  endInvalidGrants(now: Date): void {
    for (const [hash, grant] of this.#grants) {
      const refusal = this.#refusal(Buffer.from(hash, "hex"), now);
      if (refusal === undefined) continue;
      this.#grants.delete(hash);
      grant.end(refusal);
    }
  }

  /** Ends all grants, because the store no longer has the key. */
  endAllGrants(): void {
    this.#endAll(unknownKey());
  }

  #endAll(reason: ProtocolError): void {
    for (const grant of this.#grants.values()) grant.end(reason);
    this.#grants.clear();
  }

  /**
   * @param hash of the whole key that the client sent.
   * @throws {@link ProtocolError} of code `UNAUTHORIZED`.
   */
  authenticate(hash: Buffer, now: Date): Grant {
    const refusal = this.#refusal(hash, now);
    if (refusal) throw refusal;
    const hex = hash.toString("hex");
    const grant = this.#grants.get(hex) ?? new OpenGrant(this.#caller);
    this.#grants.set(hex, grant);
    return grant;
  }

  #refusal(hash: Buffer, now: Date): ProtocolError | undefined {
    const { previous, revokedAt, disabledAt, expiresAt, notUnderstood } = this.#key;
    // Compares with both secrets in any case, so that the duration reveals nothing.
    const isCurrent = timingSafeEqual(this.#key.hash, hash);
    const isPrevious = timingSafeEqual(previous?.hash ?? HASH_OF_NO_KEY, hash);
    if (!isCurrent && !isPrevious) return unknownKey();
    if (revokedAt) return refusal("KEY_REVOKED", "the API key was revoked");
    if (expiresAt && expiresAt <= now) return refusal("KEY_EXPIRED", "the API key has expired");
    if (disabledAt) return refusal("KEY_DISABLED", "the API key is disabled for now");
    // The terms may narrow what the key permits, so the key is refused.
    if (notUnderstood)
      return refusal("KEY_DISABLED", "this version of the service does not understand the API key's terms");
    if (isCurrent || (previous && previous.until > now)) return undefined;
    return refusal("KEY_EXPIRED", "this secret of the API key was replaced by a new one");
  }
}

function sameOrigins({ publishable: before }: Caller, { publishable: after }: Caller): boolean {
  return JSON.stringify(before?.origins) === JSON.stringify(after?.origins);
}

/** A hash that no key has. It stands in for a missing hash, so that comparisons take the same time. */
export const HASH_OF_NO_KEY = Buffer.alloc(32);

export function unknownKey(): ProtocolError {
  return refusal("UNKNOWN_KEY", "the API key is not known");
}

function refusal(reason: Reason, message: string): ProtocolError {
  return new ProtocolError(reason, message);
}
