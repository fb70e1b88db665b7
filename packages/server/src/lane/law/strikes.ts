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

/** A sender is struck for this time, in ms, unless a block has a wrapper of it before. */
const STRUCK_MS = 600_000;
/** The struck senders of an API key after which its unproven ones count as struck. */
const STRUCK_OF_KEY = 3;
/** The most struck senders that are remembered: a step looks through all. */
const MAX_STRUCK = 1_000;

/** @param now a monotonic clock in ms. */
export function createStrikes(now: () => number = () => performance.now()) {
  /** The senders, with the times of their last strikes; the oldest first. */
  const struck = new Map<string, { readonly keyId: string; readonly at: number }>();
  const proven = new Set<string>();
  const isOver = (at: number) => now() - at >= STRUCK_MS;
  const isKeyStruck = (keyId: string) => {
    let count = 0;
    for (const one of struck.values()) {
      if (one.keyId === keyId && !isOver(one.at)) count++;
      if (count >= STRUCK_OF_KEY) return true;
    }
    return false;
  };
  return {
    /** Blocks have left out a wrapper of this sender. */
    strike({ sender, keyId }: StruckParty) {
      const name = bytesToHex(sender);
      struck.delete(name);
      struck.set(name, { keyId, at: now() });
      forgetOldest(struck, MAX_STRUCK);
    },
    /** A block has a wrapper of this sender. */
    prove(sender: Uint8Array) {
      const name = bytesToHex(sender);
      struck.delete(name);
      proven.delete(name);
      proven.add(name);
      forgetOldest(proven);
    },
    isProven: (sender: Uint8Array) => proven.has(bytesToHex(sender)),
    isStruck({ sender, keyId }: StruckParty) {
      if (struck.size === 0) return false;
      const name = bytesToHex(sender);
      const own = struck.get(name);
      return (own !== undefined && !isOver(own.at)) || (!proven.has(name) && isKeyStruck(keyId));
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
