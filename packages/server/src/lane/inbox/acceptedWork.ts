import { bytesToHex } from "@gas-waiver/protocol";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import { type ChainNonces, fetchNonces } from "../../chain/nonces.js";
import type { NewSubmission } from "../../store/accept/newSubmission.js";

/** A submission that this replica has accepted, as far as a lane needs it. */
export type AcceptedSubmission = Pick<
  NewSubmission,
  "id" | "keyId" | "innerRaw" | "innerHash" | "sender" | "senderNonce"
> & {
  /** In ms of a monotonic clock. */
  readonly acceptedAt: number;
};

/** The submissions that this replica has accepted for a lane since the lane's last step. */
export interface TakenWork {
  readonly submissions: readonly AcceptedSubmission[];
  /** There was more than is kept, or some of it is old: the store has to be read. */
  readonly isIncomplete: boolean;
  /** The nonces of all these senders, if they were fetched beside the accept writes; undefined if a part is missing. */
  nonces(): Promise<ChainNonces | undefined>;
}

/**
 * Hands accepted submissions to the lanes of this replica. A lane that knows its queue as empty then need not read the
 * queue. The senders' nonces come along, fetched beside the accept write. Both are hints and may be wrong or incomplete;
 * the store decides what a lane may sign.
 */
export interface AcceptedWork {
  /** Begins to fetch the nonces of these senders for the lanes that know their queue. Called when an accept write begins. */
  prepare(newSubmissions: readonly NewSubmission[]): void;
  /** Records what was accepted into the lane of a waiver. */
  add(waiver: Uint8Array, submission: NewSubmission): void;
  /** Whether something was added that no step has taken. */
  has(waiver: Uint8Array): boolean;
  /** Returns what was added since the last call. */
  take(waiver: Uint8Array): TakenWork;
  /** Says whether the next step of the lane can do without its queue, if it comes soon. */
  setReady(waiver: Uint8Array, isReady: boolean): void;
}

/** The most submissions that are kept for one lane. */
const MAX_KEPT = 100;
/**
 * The most bytes of InnerTxs kept for one lane. If another replica takes the lane's steps, nobody here takes them out.
 */
const MAX_KEPT_BYTES = 256 * 1_024;
/** Nonces are fetched ahead for accept writes of at most so many submissions: larger ones are read from the queue. */
const MAX_PREPARED = 16;
/** A lane that took no step for longer reads its queue, or is another replica's by now. */
const READY_MS = 250;
/** An older hint says nothing of the store as it is now. */
const MAX_AGE_MS = 1_000;
/** Prepared nonces that are kept, of submissions that were not accepted among them. */
const MAX_NONCES = 1_000;

/** The submissions of one lane that no step has taken yet. */
interface KeptWork {
  readonly submissions: AcceptedSubmission[];
  bytes: number;
  hadMore: boolean;
}

export function createAcceptedWork(
  chain: Pick<NodeClient, "nonces">,
  now: () => number = () => performance.now(),
): AcceptedWork {
  const added = new Map<string, KeptWork>();
  const readyAt = new Map<string, number>();
  const isRecent = (at: number) => now() - at < MAX_AGE_MS;
  const prepared = createPreparedNonces(chain, now);
  return {
    prepare(newSubmissions) {
      if (newSubmissions.length > MAX_PREPARED) return;
      for (const [waiver, submissions] of byWaiver(newSubmissions)) {
        const at = readyAt.get(waiver);
        if (at !== undefined && now() - at < READY_MS) prepared.fetch(waiver, submissions);
      }
    },
    add(waiver, { id, keyId, innerRaw, innerHash, sender, senderNonce }) {
      const waiverHex = bytesToHex(waiver);
      const ofLane = added.get(waiverHex) ?? { submissions: [], bytes: 0, hadMore: false };
      added.set(waiverHex, ofLane);
      const bytes = ofLane.bytes + innerRaw.length;
      if (ofLane.submissions.length >= MAX_KEPT || bytes > MAX_KEPT_BYTES) ofLane.hadMore = true;
      else {
        ofLane.submissions.push({ id, keyId, innerRaw, innerHash, sender, senderNonce, acceptedAt: now() });
        ofLane.bytes = bytes;
      }
    },
    has: (waiver) => added.has(bytesToHex(waiver)),
    take(waiver) {
      const waiverHex = bytesToHex(waiver);
      const { submissions = [], hadMore = false } = added.get(waiverHex) ?? {};
      added.delete(waiverHex);
      const isIncomplete = hadMore || submissions.some(({ acceptedAt }) => !isRecent(acceptedAt));
      const senders = submissions.map(({ sender }) => sender);
      return { submissions, isIncomplete, nonces: prepared.take(waiverHex, senders) };
    },
    setReady(waiver, isReady) {
      if (isReady) readyAt.set(bytesToHex(waiver), now());
      else readyAt.delete(bytesToHex(waiver));
    },
  };
}

interface PreparedNonces {
  /** Fetches the nonces of a waiver and of the senders of its submissions. */
  fetch(waiver: string, submissions: readonly NewSubmission[]): void;
  /**
   * Returns a function that joins the nonces fetched for the senders and the waiver, once. The function resolves to
   * undefined if a nonce is missing: nothing was fetched for a sender that the accept write left in the lane of its earlier
   * submissions.
   */
  take(waiver: string, senders: readonly Uint8Array[]): () => Promise<ChainNonces | undefined>;
}

interface FetchedNonces {
  readonly waiver: string;
  readonly nonces: Promise<ChainNonces | undefined>;
  readonly at: number;
}

function createPreparedNonces(chain: Pick<NodeClient, "nonces">, now: () => number): PreparedNonces {
  const bySender = new Map<string, FetchedNonces>();
  return {
    fetch(waiver, submissions) {
      const [first] = submissions;
      if (first === undefined) return;
      const senders = new Map(submissions.map(({ sender }) => [bytesToHex(sender), sender]));
      const nonces = fetchNonces(chain, first.waiver, [...senders.values()]).catch(() => undefined);
      if (bySender.size >= MAX_NONCES) bySender.clear();
      for (const sender of senders.keys()) bySender.set(sender, { waiver, nonces, at: now() });
    },
    take(waiver, senders) {
      const names = senders.map(bytesToHex);
      const found = names.map((name) => bySender.get(name));
      for (const name of names) bySender.delete(name);
      const isOfLane = (one: FetchedNonces) => one.waiver === waiver && now() - one.at < MAX_AGE_MS;
      const fetched = found.flatMap((one) => (one && isOfLane(one) ? [one.nonces] : []));
      const isWhole = fetched.length > 0 && fetched.length === senders.length;
      return async () => (isWhole ? (await Promise.all(new Set(fetched))).reduce(joined) : undefined);
    },
  };
}

function byWaiver(newSubmissions: readonly NewSubmission[]): Map<string, NewSubmission[]> {
  const groups = new Map<string, NewSubmission[]>();
  for (const one of newSubmissions) {
    const waiver = bytesToHex(one.waiver);
    groups.set(waiver, [...(groups.get(waiver) ?? []), one]);
  }
  return groups;
}

function joined(a: ChainNonces | undefined, b: ChainNonces | undefined): ChainNonces | undefined {
  if (a === undefined || b === undefined) return undefined;
  const waiver = a.waiver > b.waiver ? a.waiver : b.waiver;
  return { waiver, of: (sender) => a.of(sender) ?? b.of(sender) };
}
