import {
  assertReplayProtected,
  bytesEqual,
  bytesToHex,
  decodeInnerTx,
  encodeInnerTx,
  hashTransaction,
  isWrapper,
  ProtocolError,
  recoverSender,
} from "@gas-waiver/protocol";
import type { BlockTransaction } from "../../chain/client/nodeClient.js";
import type { NonceUse } from "../../chain/nonceUse.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { adoptWrappers, findKnownInnerTxs, type LostWrapper } from "../../store/lanes/nonces/lostWrappers.js";
import { findWithdrawnWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import { countForeignUse } from "../../store/lanes/setLaneState.js";
import type { Store } from "../../store/store.js";
import { stopLane, type WatchContext } from "../context.js";
import type { Candidate, ChainOutcome } from "./chainOutcomes.js";
import type { Evidence } from "./law.js";
import { requeue } from "./requeue.js";

/** A submission whose wrapper is dead: a final block shows another transaction under its nonce, or the wrapper itself, which failed. */
export interface Replaced {
  readonly id: string;
  readonly waiverNonce: bigint;
  /** The dead wrapper's hash. */
  readonly wrapperHash: Uint8Array;
  readonly usedBy: NonceUse;
}

type ReplacedContext = Pick<WatchContext, "store" | "log" | "onLaneStopped" | "onNoncesFreed">;

/** The lane stops when something else has used its key this many times. */
const MAX_FOREIGN_USES = 2;
/** The pause of a replaced submission, in ms: a lane that is stopped because of it notices that before. */
const REPLACED_DELAY_MS = 1_500;

/** Queues replaced submissions for other nonces, and finds out whose transactions used the old nonces. */
export async function requeueReplaced(
  held: HeldLane,
  replaced: readonly Replaced[],
  context: ReplacedContext,
): Promise<void> {
  let requeued = 0;
  // A wrapper that failed in a block may fail in each, and uses a nonce every time.
  for (const isStruck of [false, true]) {
    const some = replaced.filter((one) => hasFailed(one) === isStruck);
    const options = { afterMs: REPLACED_DELAY_MS, isOpen: false, isStruck };
    if (some.length > 0) requeued += (await requeue(held, some, options, context)).length;
  }
  if (requeued === 0) return;
  const uses = replaced.map(({ usedBy }) => usedBy);
  const foreign = await countForeign(held, uses, context);
  if (foreign.nonces.length === 0 || foreign.uses < MAX_FOREIGN_USES) return;
  const reason = `something else sends with this waiver's key: its nonces ${foreign.nonces.join(", ")} were used by other transactions`;
  await stopLane(held, reason, "; open it again when nothing else holds the key", context);
}

/** The block has the wrapper itself: it was executed, and its InnerTx was not. */
function hasFailed({ wrapperHash, usedBy: { transaction } }: Replaced): boolean {
  return bytesEqual(transaction.hash, wrapperHash);
}

/**
 * Counts and reports the nonces that something else has used: with transactions that are not the lane's own.
 * @returns `uses`: how often something else has used the key lately.
 */
export async function countForeign(
  held: HeldLane,
  nonceUses: readonly NonceUse[],
  context: Pick<WatchContext, "store" | "log">,
): Promise<{ readonly nonces: readonly bigint[]; readonly uses: number }> {
  const own = await findOwn(held, nonceUses, context);
  const foreign = nonceUses
    .filter(({ transaction }) => !own.includes(transaction))
    .map(({ nonce, transaction }) => ({ waiverNonce: nonce, wrapperHash: transaction.hash }));
  const nonces = foreign.map(({ waiverNonce }) => waiverNonce);
  if (foreign.length === 0) return { nonces, uses: 0 };
  const { foreignUses: uses, isNew } = await countForeignUse(context.store, held, foreign);
  const transactions = foreign.map(
    ({ waiverNonce, wrapperHash }) => `${waiverNonce} ${bytesToHex(wrapperHash)}`,
  );
  if (isNew) context.log.error({ transactions, foreignUses: uses }, NOT_OURS);
  return { nonces, uses };
}

const NOT_OURS = "the chain used the waiver's nonces for transactions that are not ours";

/**
 * Finds the transactions of the lane among those that used its nonces: its withdrawn wrappers, and those that the store has lost.
 * @returns the transactions that count as the lane's own.
 */
export async function findOwn(
  held: HeldLane,
  uses: readonly NonceUse[],
  context: Pick<WatchContext, "store" | "log">,
): Promise<readonly BlockTransaction[]> {
  const nonces = uses.map(({ nonce }) => nonce);
  const withdrawn = nonces.length === 0 ? [] : await findWithdrawnWrappers(context.store, held, nonces);
  const isKnown = ({ transaction }: NonceUse) =>
    withdrawn.some(({ wrapperHash }) => bytesEqual(wrapperHash, transaction.hash));
  const lost = await adoptIfLost(
    held,
    uses.filter((use) => !isKnown(use)),
    context,
  );
  return [...uses.filter(isKnown).map(({ transaction }) => transaction), ...lost];
}

/**
 * After a failover, the store may have lost its last commits, and the chain may show wrappers of this lane that the store
 * does not know. For an hour after the store has moved to another server, a transaction of the waiver to the marker that
 * decodes counts as a lost wrapper, not as a foreign use of the key. Storing it again gives the same InnerTx the same
 * answer when it is sent again (D18). A wrapper of an InnerTx that the store has is the lane's own at any time.
 * @returns the transactions that count as the lane's own.
 */
async function adoptIfLost(
  held: HeldLane,
  uses: readonly NonceUse[],
  { store, log }: { readonly store: Store; readonly log: Logger },
): Promise<readonly BlockTransaction[]> {
  const wrappers = uses.flatMap(({ transaction, by }) => {
    const lost = by === "sender" ? lostWrapperOf(transaction, store.newId()) : undefined;
    return lost ? [{ transaction, lost }] : [];
  });
  if (wrappers.length === 0) return [];
  const lost = wrappers.map((wrapper) => wrapper.lost);
  if (!(await store.moves.hasMoved())) {
    const known = await findKnownInnerTxs(store, held, lost);
    return wrappers.filter((wrapper) => known.includes(wrapper.lost)).map(({ transaction }) => transaction);
  }
  const ids = await adoptWrappers(store, held, lost);
  const nonces = lost.map(({ waiverNonce }) => String(waiverNonce));
  if (ids.length > 0)
    log.warn({ nonces, ids }, "the chain has wrappers that the store had lost; they are stored again");
  else
    log.info({ nonces }, "the chain has wrappers that the store does not know; their submissions have ended");
  return wrappers.map(({ transaction }) => transaction);
}

/** Reads the wrapper in a transaction of the waiver; undefined if the transaction is not a wrapper. */
function lostWrapperOf({ to, input, nonce, hash }: BlockTransaction, id: string): LostWrapper | undefined {
  if (!isWrapper({ to })) return undefined;
  try {
    const inner = decodeInnerTx(input);
    assertReplayProtected(inner);
    if (inner.to === undefined) return undefined;
    return {
      waiverNonce: nonce,
      wrapperHash: hash,
      id,
      innerHash: hashTransaction(inner),
      innerRaw: encodeInnerTx(inner),
      sender: recoverSender(inner),
      senderNonce: inner.nonce,
      target: inner.to,
      selector: inner.data.length >= 4 ? inner.data.subarray(0, 4) : undefined,
    };
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/*
 * A chain that knows no waivers takes a wrapper of price 0 as a plain transaction to the marker: the waiver's nonce is
 * used, and the InnerTx never runs. A chain that knows waivers runs the InnerTx in the same block, directly after its
 * wrapper. So a chain knows no waivers if a final block has the wrapper without its InnerTx and the sender's nonce is
 * unused. No failure is proven (D28), because another wrapper may still carry the InnerTx: the submission stays as it is.
 * But the lane must not attract more work.
 */

/** A submission that nonces contradict, and the evidence of final blocks about it. */
interface Contradicted {
  readonly candidate: Candidate;
  readonly outcome: ChainOutcome;
  readonly evidence: Evidence;
}

/** Stops a lane when a final block shows that the chain runs its wrappers as plain transactions. */
export async function stopForPlainWrappers(
  held: HeldLane,
  contradicted: readonly Contradicted[],
  context: Pick<WatchContext, "store" | "log" | "entries" | "onLaneStopped">,
): Promise<void> {
  const { entries } = context;
  // An operator who opens the lane again knows about those that were reported.
  const plain = contradicted.filter(
    (submission) => isPlain(submission) && entries.isFirst(submission.candidate, "plain"),
  );
  const [first] = plain;
  const use = first?.evidence.waiverNonceUse;
  if (first === undefined || use === undefined) return;
  const stopping = stopLane(held, reasonOf(use), ": the chain does not know waivers", context);
  await stopping.catch((error: unknown) => {
    for (const { candidate } of plain) entries.forget(candidate, "plain");
    throw error;
  });
}

function isPlain({ candidate, outcome, evidence }: Contradicted): boolean {
  const { waiverNonceUse } = evidence;
  if (outcome.kind !== "replaced" || waiverNonceUse?.isOurs !== true || waiverNonceUse.hasUnread)
    return false;
  return !waiverNonceUse.blockTransactions.some(({ hash }) => bytesEqual(hash, candidate.innerHash));
}

function reasonOf({ transaction, blockNumber }: NonceUse): string {
  const wrapper = bytesToHex(transaction.hash);
  return `the chain executed the wrapper ${wrapper} in block ${blockNumber} and not its InnerTx: it does not know waivers; point --rpc-url at a chain that does, and open the lane then`;
}
