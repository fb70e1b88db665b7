import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneNonces } from "../../store/lanes/queue/laneSnapshot.js";
import { forgetOldest } from "../../util/forgetOldest.js";

/** The owner of a submission, as far as strikes concern it. */
export interface StruckParty {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly keyId: string;
}

/**
 * The senders whose wrappers blocks have left out. Each such wrapper costs everybody behind it some blocks, so a struck sender
 * has few turns. Where an API key has several struck senders, so do its senders that have never been in a block: a new account
 * costs nothing. What is lost with the process costs others some blocks once more.
 */
export type Strikes = ReturnType<typeof createStrikes>;

/** A strike is worth half after this time, in ms. */
const HALF_LIFE_MS = 600_000;
const MAX_STRIKES = 8;
/** The struck senders of an API key after which its unproven ones count as struck. */
const STRUCK_OF_KEY = 3;
/** The most struck senders that are remembered: a step looks through all. */
const MAX_STRUCK = 1_000;

interface Struck {
  readonly keyId: string;
  readonly strikes: number;
  readonly at: number;
}

/** @param now a monotonic clock in ms. */
export function createStrikes(now: () => number = () => performance.now()) {
  const struck = new Map<string, Struck>();
  const proven = new Set<string>();
  const strikesOf = (sender: string) => {
    const found = struck.get(sender);
    return found ? Math.floor(found.strikes / 2 ** Math.floor((now() - found.at) / HALF_LIFE_MS)) : 0;
  };
  const isKeyStruck = (keyId: string) => {
    let count = 0;
    for (const [sender, one] of struck) {
      if (one.keyId === keyId && strikesOf(sender) > 0) count++;
      if (count >= STRUCK_OF_KEY) return true;
    }
    return false;
  };
  const set = (sender: string, one: Struck) => {
    struck.delete(sender);
    if (one.strikes > 0) struck.set(sender, one);
    forgetOldest(struck, MAX_STRUCK);
  };
  return {
    /** Blocks have left out a wrapper of this sender. */
    strike({ sender, keyId }: StruckParty) {
      const name = bytesToHex(sender);
      set(name, { keyId, strikes: Math.min(MAX_STRIKES, strikesOf(name) + 1), at: now() });
    },
    /** A block has a wrapper of this sender. */
    prove(sender: Uint8Array) {
      const name = bytesToHex(sender);
      const { keyId = "" } = struck.get(name) ?? {};
      if (struck.has(name)) set(name, { keyId, strikes: Math.floor(strikesOf(name) / 2), at: now() });
      proven.delete(name);
      proven.add(name);
      forgetOldest(proven);
    },
    isStruck({ sender, keyId }: StruckParty) {
      if (struck.size === 0) return false;
      const name = bytesToHex(sender);
      return strikesOf(name) > 0 || (!proven.has(name) && isKeyStruck(keyId));
    },
  };
}

/** A lane's turn for struck work: one wrapper in flight, and a rest after one that blocks have left out. */
export type StruckTurn = ReturnType<typeof createStruckTurn>;

/** Struck work that blocks leave out costs others a few blocks in this time, in ms. */
const REST_MS = 30_000;

/** @param now a monotonic clock in ms. */
export function createStruckTurn(now: () => number = () => performance.now()) {
  let inFlight: bigint | undefined;
  let restsUntil = Number.NEGATIVE_INFINITY;
  return {
    /**
     * Whether a struck submission may be signed.
     * @param waiverNonce the waiver's next nonce.
     * @param assigned what the lane holds: a wrapper above that was queued again, and its nonce may never be used.
     */
    isFree(waiverNonce: bigint, { count, highest }: LaneNonces["assigned"]) {
      const isHeld = inFlight !== undefined && waiverNonce <= inFlight && count > 0 && inFlight <= highest;
      return !isHeld && now() >= restsUntil;
    },
    onSigned(waiverNonce: bigint) {
      inFlight = waiverNonce;
    },
    onLeftOut() {
      inFlight = undefined;
      restsUntil = now() + REST_MS;
    },
  };
}
