import { timingSafeEqual } from "node:crypto";
import { setMaxListeners } from "node:events";
import { ProtocolError, type Reason } from "@gas-waiver/protocol";
import type { Caller } from "../model/caller.js";
import type { StoredKey } from "../store/apiKeys.js";

/** A key that was let in, for as long as its connection or stream lasts. */
export interface Grant {
  /** What the key may do now: changes of it show at once. */
  readonly caller: Caller;
  /** Aborted when the key is no longer good, with a {@link ProtocolError} that says why. */
  readonly signal: AbortSignal;
}

/** One key of the store, as a replica holds it in memory. */
export class CachedKey {
  #key: StoredKey;
  #caller: Caller;
  /** What was let in, by the hash of the secret that did it. */
  readonly #grants = new Map<string, { readonly grant: Grant; readonly ending: AbortController }>();

  constructor(key: StoredKey, caller: Caller) {
    this.#key = key;
    this.#caller = caller;
  }

  /** Whether it is refused because this version does not understand what is set for it. */
  get isNotUnderstood(): boolean {
    return this.#key.notUnderstood !== undefined;
  }

  /** The key has changed: its limits bind from the next request on, and who is no longer let in is sent away. */
  update(key: StoredKey, caller: Caller, now: Date): void {
    this.#key = key;
    this.#caller = caller;
    this.endInvalidGrants(now);
  }

  /** Ends what is no longer good. */
  endInvalidGrants(now: Date): void {
    for (const [name, { ending }] of this.#grants) {
      const refusal = this.#refusal(Buffer.from(name, "hex"), now);
      if (refusal === undefined) continue;
      this.#grants.delete(name);
      ending.abort(refusal);
    }
  }

  /** The store does not have it any more. */
  endAllGrants(): void {
    for (const { ending } of this.#grants.values()) ending.abort(unknownKey());
    this.#grants.clear();
  }

  /**
   * Lets in whoever has a good secret of this key.
   * @throws {@link ProtocolError} of code `UNAUTHORIZED`.
   */
  authenticate(hash: Buffer, now: Date): Grant {
    const refusal = this.#refusal(hash, now);
    if (refusal) throw refusal;
    const name = hash.toString("hex");
    const known = this.#grants.get(name);
    if (known) return known.grant;
    const ending = new AbortController();
    // Every connection and stream of the key listens to it.
    setMaxListeners(0, ending.signal);
    const callerNow = () => this.#caller;
    const grant: Grant = {
      get caller() {
        return callerNow();
      },
      signal: ending.signal,
    };
    this.#grants.set(name, { grant, ending });
    return grant;
  }

  #refusal(hash: Buffer, now: Date): ProtocolError | undefined {
    const { previous, revokedAt, disabledAt, expiresAt, notUnderstood } = this.#key;
    // Both are compared, so that the time tells nothing.
    const isCurrent = timingSafeEqual(this.#key.hash, hash);
    const isPrevious = timingSafeEqual(previous?.hash ?? HASH_OF_NO_KEY, hash);
    if (!isCurrent && !isPrevious) return unknownKey();
    if (revokedAt) return refused("KEY_REVOKED", "the API key was revoked");
    if (expiresAt && expiresAt <= now) return refused("KEY_EXPIRED", "the API key has expired");
    if (disabledAt) return refused("KEY_DISABLED", "the API key is disabled for now");
    // It may be meant to narrow the key.
    if (notUnderstood)
      return refused("KEY_DISABLED", "the service does not understand what is set for the API key");
    if (isCurrent || (previous && previous.until > now)) return undefined;
    return refused("KEY_EXPIRED", "this secret of the API key was replaced by a new one");
  }
}

/** No text is known to have it. */
export const HASH_OF_NO_KEY = Buffer.alloc(32);

export function unknownKey(): ProtocolError {
  return refused("UNKNOWN_KEY", "the API key is not known");
}

function refused(reason: Reason, message: string): ProtocolError {
  return new ProtocolError(reason, message);
}
