import type {
  AuthenticatedInterface,
  FailedAuthentication,
  FailureCount,
} from "../../model/keys/failedAuthentication.js";
import { addressGroup } from "../../model/options/networkAddress.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import { forgetOldest } from "../../util/forgetOldest.js";
import { Ledger } from "../../util/ledger.js";
import { RateRefusal, rateStateOf } from "./rates.js";

/** Unknown keys that an address may show: some at once, and then one a second. */
export const UNKNOWN_KEY_LIMITS = { ratePerSecond: 1, rateBurst: 50 };
/** Failures that the log may have: at once, and each second. */
const LOG_TERMS = { ratePerSecond: 10, rateBurst: 10 };
/** The addresses, and the valid keys of addresses, that are remembered: the latest. */
const MAX_ADDRESSES = 10_000;
/** The address of the failures that are counted when there are too many addresses. */
const OTHER_ADDRESSES = "others";

export interface FailedAuthenticationsDependencies {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "authenticationFailed" | "countSlowedAddresses">;
  /** In ms. */
  readonly now?: () => number;
}

/**
 * Counts and logs failed authentications, and slows down addresses that guess keys. An address that has shown too many
 * unknown keys gets the same refusal for a valid key as for a wrong one, so that a guess tells nothing. Two kinds of keys go
 * on: those that were valid from this address before, and, over the public interface, those in the form of a key of the
 * store, which nobody guesses. Networks of IPv6 count as one address. Each interface counts by itself: who guesses API keys
 * behind a proxy must not keep the operators out who share its address.
 */
export class FailedAuthentications {
  readonly #dependencies: FailedAuthenticationsDependencies;
  /** The unknown keys that each address has shown at each interface. */
  readonly #shown: Ledger;
  /** The valid keys by their interfaces and addresses. The latest is the last. */
  readonly #valid = new Set<string>();
  #counts = new Map<string, FailureCount>();
  readonly #logged: Ledger;
  #notLogged = 0;

  constructor(dependencies: FailedAuthenticationsDependencies) {
    this.#dependencies = dependencies;
    const now = dependencies.now ?? (() => performance.now());
    this.#shown = new Ledger(now);
    this.#logged = new Ledger(now);
    dependencies.metrics.countSlowedAddresses(
      () => [...this.#shown.parties].filter((group) => this.#available(group) < 1).length,
    );
  }

  /**
   * Counts a failure. An unknown key brings its address nearer to its limit, unless it has the form of a key of the store:
   * those have secrets that nobody guesses.
   */
  add(failure: FailedAuthentication): void {
    const { interface: port, address, reason, keyId } = failure;
    this.#dependencies.metrics.authenticationFailed(port, reason);
    this.#count(failure);
    this.#log(failure);
    if (reason !== "UNKNOWN_KEY" || keyId !== undefined) return;
    this.#shown.charge(groupOf(port, address), 1, UNKNOWN_KEY_LIMITS);
  }

  /**
   * Refuses a key that may be a guess if its address has shown too many unknown ones.
   * @param keyId of the valid key that this is; undefined if it is none.
   * @throws {@link RateRefusal} `TOO_MANY_UNKNOWN_KEYS`
   */
  assertMayGuess(port: AuthenticatedInterface, address: string, keyId: string | undefined): void {
    const group = groupOf(port, address);
    const available = this.#available(group);
    if (available >= 1) return;
    if (keyId !== undefined && this.#valid.has(`${group} ${keyId}`)) return;
    const state = rateStateOf(UNKNOWN_KEY_LIMITS, available);
    const rate = { limits: UNKNOWN_KEY_LIMITS, unit: "unknown-keys", state } as const;
    const message = "this address has shown too many unknown keys";
    throw new RateRefusal(rate, 1 - available, "TOO_MANY_UNKNOWN_KEYS", message);
  }

  /** Remembers that a key was valid from an address. */
  addValid(port: AuthenticatedInterface, address: string, keyId: string): void {
    const pair = `${groupOf(port, address)} ${keyId}`;
    this.#valid.delete(pair);
    this.#valid.add(pair);
    forgetOldest(this.#valid, MAX_ADDRESSES);
  }

  /** Returns the failures since the last call. */
  takeCounts(): FailureCount[] {
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    return counts;
  }

  #available(group: string): number {
    return UNKNOWN_KEY_LIMITS.rateBurst - this.#shown.debtOf(group, UNKNOWN_KEY_LIMITS);
  }

  #count({ keyId: _, ...failure }: FailedAuthentication): void {
    const nameOf = (address: string) => JSON.stringify({ ...failure, address });
    const isNew = !this.#counts.has(nameOf(failure.address));
    const address = isNew && this.#counts.size >= MAX_ADDRESSES ? OTHER_ADDRESSES : failure.address;
    const count = (this.#counts.get(nameOf(address))?.count ?? 0) + 1;
    this.#counts.set(nameOf(address), { ...failure, address, count });
  }

  #log(failure: FailedAuthentication): void {
    if (this.#logged.take("log", 1, LOG_TERMS) > 0) {
      this.#notLogged++;
      return;
    }
    const details = { ...failure, ...(this.#notLogged > 0 && { notLogged: this.#notLogged }) };
    this.#dependencies.log.warn(details, "an authentication failed");
    this.#notLogged = 0;
  }
}

/** Names the clients whose guesses at an interface count together. */
function groupOf(port: AuthenticatedInterface, address: string): string {
  return `${port} ${addressGroup(address)}`;
}
