import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { NonceProofs } from "../../chain/nonceProof.js";
import type { NonceUse } from "../../chain/nonceUse.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import type { Failure } from "../../model/submission/submission.js";
import { includedUpdate } from "../../results/results.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { countOpenWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import { type FailedSubmission, saveFailed } from "../../store/transitions/saveFailed.js";
import {
  type IncludedRow,
  type IncludedSubmission,
  saveIncluded,
} from "../../store/transitions/saveIncluded.js";
import { unparkNext } from "../../store/transitions/unparkNext.js";
import type { WatchContext } from "../context.js";
import { type Candidate, type ChainOutcome, chainOutcomes, findCarriers } from "./chainOutcomes.js";
import { type Decision, decide, type Evidence, type Expiry } from "./law.js";
import { type Replaced, requeueReplaced, stopForPlainWrappers } from "./usedNonces.js";

type Needed = "store" | "chain" | "log" | "entries" | "onLaneStopped" | "onNoncesFreed";
type Optional = "revertCauses" | "broadcastBuffer" | "strikes";

/** The parts of a lane that reconciling needs. An operator's repair has only some of them. */
export interface ReconcileContext extends Pick<WatchContext, Needed>, Partial<Pick<WatchContext, Optional>> {
  readonly results: Pick<WatchContext["results"], "publish">;
  readonly options: Pick<ResolvedOptions, "reorgDepth">;
  readonly nonceProofs: Pick<NonceProofs, "find">;
}

interface CandidateOutcome {
  readonly candidate: Candidate;
  readonly outcome: ChainOutcome;
}

interface DecidedCandidate extends CandidateOutcome {
  readonly evidence: Evidence;
  readonly decision: Decision;
}

/**
 * Brings the candidates in the store to their outcomes on the chain. Receipts decide at once. Where a node's nonces
 * contradict the store, `law.ts` decides by the proof of a final block, once the search has found it.
 * @param options `asksEach`: asks each node for the receipts of what final blocks show (L3), and waits for all of them.
 * @returns whether all candidates have receipts.
 */
export async function reconcile(
  held: HeldLane,
  candidates: readonly Candidate[],
  context: ReconcileContext,
  { asksEach = false } = {},
): Promise<boolean> {
  if (candidates.length === 0) return true;
  const outcomes = await chainOutcomes(held.waiver, candidates, context);
  const candidateOutcomes = candidates.map(
    (candidate, i): CandidateOutcome => ({ candidate, outcome: outcomes[i] ?? { kind: "open" } }),
  );
  const elsewhere = await includeExecuted(held, candidateOutcomes, context);
  const contradicted = candidateOutcomes
    .filter(({ outcome: { kind } }) => kind === "nonceUsed" || kind === "replaced")
    .concat(elsewhere);
  const decided = await decideContradicted(held, contradicted, context);
  if (asksEach) await includeExecuted(held, await findReceipts(decided, context), context);
  const failed = decided.flatMap(({ candidate: { id, wrapperHash }, decision }) =>
    decision.move === "fail"
      ? [{ id, ...decision.failure, condition: conditionOf(decision, wrapperHash) }]
      : [],
  );
  await failSubmissions(held, failed, context);
  await requeueReplaced(held, decided.flatMap(replacedOf), context);
  await stopForPlainWrappers(held, decided, context);
  return elsewhere.length === 0 && candidateOutcomes.every(({ outcome }) => outcome.kind === "included");
}

/** Asks each node for the receipts that one does not have, although final blocks show the transactions. */
async function findReceipts(
  decided: readonly DecidedCandidate[],
  { chain }: Pick<ReconcileContext, "chain">,
): Promise<CandidateOutcome[]> {
  const lacking = decided.filter(({ decision }) => decision.clause === "L3");
  if (lacking.length === 0) return [];
  const receipts = await chain.receiptsByEach(lacking.map(({ candidate }) => candidate.innerHash));
  return lacking.flatMap(({ candidate, evidence }, i) => {
    const found = receipts[i];
    const receipt = found && { ...found, ...blockOf(candidate, evidence) };
    return receipt ? [{ candidate, outcome: { kind: "included", receipt, foreign: true } }] : [];
  });
}

/** The final block that has the InnerTx: a receipt may name another one, which a reorg took away. */
function blockOf({ innerHash }: Candidate, { senderNonceUse, waiverNonceUse }: Evidence) {
  const use = senderNonceUse ?? waiverNonceUse;
  if (!use?.blockTransactions.some(({ hash }) => bytesEqual(hash, innerHash))) return undefined;
  const { blockNumber, blockHash } = use;
  return { blockNumber, blockHash };
}

/** A proof stays valid whatever happens meanwhile, one about a wrapper while the submission has that. Any other is valid while it is queued. */
function conditionOf(
  { clause }: Extract<Decision, { move: "fail" }>,
  wrapperHash: Uint8Array | undefined,
): FailedSubmission["condition"] {
  if (clause === "L2") return "always";
  return clause === "L4" && wrapperHash ? wrapperHash : "queued";
}

async function decideContradicted(
  held: HeldLane,
  contradicted: readonly CandidateOutcome[],
  context: ReconcileContext,
): Promise<DecidedCandidate[]> {
  const signed = contradicted.filter(({ candidate }) => candidate.signings > 0);
  const open = await countOpenWrappers(
    context.store,
    signed.map(({ candidate }) => candidate.id),
  );
  const decided: DecidedCandidate[] = [];
  for (const { candidate, outcome } of contradicted) {
    const evidence = await evidenceOf(held, { candidate, outcome }, open.get(candidate.id) ?? 0, context);
    const decision = decide(evidence);
    decided.push({ candidate, outcome, evidence, decision });
    const { clause } = decision;
    const { id } = candidate;
    if (clause === "L3" && context.entries.isFirst(candidate, "no receipt")) {
      const found =
        "a final block has the submission's wrapper or its InnerTx, and the node has no receipt of the InnerTx";
      context.log.warn({ id, outcome: outcome.kind, clause }, found);
    }
  }
  return decided;
}

async function evidenceOf(
  held: HeldLane,
  { candidate, outcome }: CandidateOutcome,
  openWrappers: number,
  { chain, nonceProofs, entries }: ReconcileContext,
): Promise<Evidence> {
  const { signings, strikes, sender, senderNonce, innerHash, waiverNonce, wrapperHash, sinceBlock } =
    candidate;
  const state = waiverNonce === undefined ? "queued" : "broadcast";
  if (outcome.kind === "nonceUsed" && signings === 0) {
    // It was never sent, so no block has to show who used its nonce. But one node alone may be wrong, or a node for a moment.
    const [told = []] = await chain.noncesByEach([sender]);
    const isPast = told.length > 0 && told.every((next) => senderNonce < next);
    return isPast && !entries.isFirst(candidate, "past")
      ? { state, openWrappers, expiry: { kind: "nonce past", senderNonce, next: outcome.next } }
      : { state, openWrappers };
  }
  if (outcome.kind === "nonceUsed") {
    const senderNonceUse = await nonceProofs.find({ account: sender, nonce: senderNonce, sinceBlock });
    if (senderNonceUse) return { state, openWrappers, senderNonceUse: withOwner(senderNonceUse, innerHash) };
  }
  if (waiverNonce === undefined || wrapperHash === undefined) return { state, openWrappers };
  const waiverNonceUse = await nonceProofs.find({ account: held.waiver, nonce: waiverNonce, sinceBlock });
  if (waiverNonceUse === undefined) return { state, openWrappers };
  const use = withOwner(waiverNonceUse, wrapperHash);
  const isFailed = use.isOurs && (await hasFailed(use, candidate, chain));
  const failure = isFailed && strikes >= STRIKES_BEFORE ? failureIn(use) : undefined;
  const isOurs = use.isOurs && !isFailed;
  return { state, openWrappers, waiverNonceUse: { ...use, isOurs, ...(failure && { failure }) } };
}

/** After so many strikes, a wrapper that fails in a block ends its submission: full blocks are over by then, and each uses a nonce. */
const STRIKES_BEFORE = 2;

function failureIn({ transaction, blockNumber }: NonceUse): Failure {
  const message = `the chain executed the wrapper ${bytesToHex(transaction.hash)} in block ${blockNumber}, where it failed without its InnerTx; blocks had left out earlier ones, or they had failed too`;
  return { reason: "NODE_REFUSED", message };
}

/**
 * Whether a wrapper in a block failed there, so that its InnerTx did not run: cosmos/evm also shows transactions that exceeded the
 * gas of their block (`EthMsgsFromCometBlock`).
 */
async function hasFailed(
  { blockHash, blockTransactions, hasUnread, transaction: { hash } }: NonceUse,
  { innerHash }: Candidate,
  chain: Pick<ReconcileContext["chain"], "receiptsByEach">,
): Promise<boolean> {
  if (hasUnread || blockTransactions.some((other) => bytesEqual(other.hash, innerHash))) return false;
  const [receipt] = await chain.receiptsByEach([hash]);
  return receipt?.succeeded === false && bytesEqual(receipt.blockHash, blockHash);
}

function withOwner(use: NonceUse, hash: Uint8Array): NonceUse & { readonly isOurs: boolean } {
  return { ...use, isOurs: use.by === "sender" && bytesEqual(use.transaction.hash, hash) };
}

function replacedOf({ candidate, evidence, decision }: DecidedCandidate): Replaced[] {
  const { id, waiverNonce, wrapperHash } = candidate;
  const use = evidence.waiverNonceUse;
  if (decision.move !== "requeue" || use === undefined) return [];
  if (waiverNonce === undefined || wrapperHash === undefined) return [];
  return [{ id, waiverNonce, wrapperHash, usedBy: use }];
}

/** A failover takes longer than this, so an answer of this age is not from before it. */
export const MOVE_CHECK_MS = 1_000;

/** @returns those whose receipts are of blocks that a reorg took away, and whose wrappers have used their nonces elsewhere. */
async function includeExecuted(
  held: HeldLane,
  candidateOutcomes: readonly CandidateOutcome[],
  context: ReconcileContext,
): Promise<CandidateOutcome[]> {
  const { store, chain, options, entries, broadcastBuffer } = context;
  const executed = candidateOutcomes.flatMap(({ candidate, outcome }) => {
    if (outcome.kind !== "included") return [];
    const state = candidate.waiverNonce === undefined ? "queued" : "broadcast";
    const isIncluded = decide({ state, openWrappers: 0, hasReceipt: true }).move === "include";
    return isIncluded ? [{ candidate, ...outcome }] : [];
  });
  if (executed.length === 0) return [];
  const mayLackWrappers = await store.moves.hasMoved(MOVE_CHECK_MS);
  const mayReorg = options.reorgDepth > 0;
  const carriages = await findCarriers(executed, chain, { mayLackWrappers, mayReorg });
  const elsewhere: CandidateOutcome[] = [];
  const included = executed.flatMap(({ candidate, foreign, receipt: { succeeded, ...block } }, i) => {
    const { carriedBy: found = "own", blockHash = block.blockHash } = carriages[i] ?? {};
    // The block at that height would take the inclusion back at once.
    if (found === "another block" && mayReorg) {
      if (!foreign) elsewhere.push({ candidate, outcome: { kind: "replaced" } });
      return [];
    }
    const isShown = found !== "not shown" && found !== "another block";
    // A node may have a receipt before another has its block. A queued one would be signed meanwhile.
    const mayWait = !isShown && candidate.waiverNonce !== undefined;
    if (mayWait && !entries.isLasting(candidate, "no block")) return [];
    const carriedBy = isShown ? found : "unknown";
    return [{ candidate, id: candidate.id, ...block, blockHash, reverted: !succeeded, carriedBy }];
  });
  const save = (agesMs: ReadonlyMap<string, number>) => {
    const withAges = included.map((one) => ({ ...one, broadcastAgeMs: agesMs.get(one.id) }));
    return saveIncluded(store, held, withAges, options.reorgDepth === 0);
  };
  const ids = included.map(({ id }) => id);
  for (const { candidate } of included) context.strikes?.prove(candidate.sender);
  const saved = await (broadcastBuffer ? broadcastBuffer.storeBeyond(ids, save) : save(new Map()));
  // After a reorg, nodes show anew what holds then.
  for (const one of included) entries.forget(one);
  // The nonce of a wrapper that was needless is free.
  if (included.some(({ carriedBy }) => carriedBy !== "own")) context.onNoncesFreed?.();
  const wereQueued = included.filter(
    ({ candidate, carriedBy }) => carriedBy !== "own" || candidate.waiverNonce === undefined,
  );
  const senders = wereQueued.map(({ candidate }) => candidate.sender);
  await unparkNext(store, held, senders);
  for (const { blockNumber } of included)
    context.store.laneFloors.lowerTo(held.waiver, blockNumber, performance.now());
  publishIncluded(saved, included, context);
  return elsewhere;
}

type CandidateInclusion = IncludedSubmission & { readonly candidate: Candidate };

/** Notifies the lines of what is stored: at once, and of a revert when its cause is known, or has not come for a moment. */
function publishIncluded(
  saved: readonly IncludedRow[],
  included: readonly CandidateInclusion[],
  { results, revertCauses }: ReconcileContext,
): void {
  const byId = new Map(included.map((inclusion) => [inclusion.id, inclusion]));
  const isExplained = ({ revertedRaw }: IncludedRow) => revertCauses !== undefined && revertedRaw !== null;
  results.publish(
    saved.filter((row) => !isExplained(row)),
    (id) => includedUpdate(byId.get(id)),
  );
  for (const row of saved.filter(isExplained)) {
    const inclusion = byId.get(row.id);
    if (inclusion === undefined || row.revertedRaw === null) continue;
    const { innerHash, sender } = inclusion.candidate;
    const reverted = { ...inclusion, ...row, innerHash, sender, innerRaw: row.revertedRaw };
    void revertCauses
      ?.find(reverted)
      .then((cause) => results.publish([row], () => includedUpdate({ ...inclusion, cause })));
  }
}

/** A queued submission that cannot go on, and the number of its wrappers that may still land. */
export interface ExpiredSubmission {
  readonly id: string;
  readonly openWrappers: number;
  readonly expiry: Expiry;
}

/** Fails queued submissions that cannot go on, as far as the law lets them fail (L9). @returns the ids of those. */
export async function failExpired(
  held: HeldLane,
  expired: readonly ExpiredSubmission[],
  context: Parameters<typeof failSubmissions>[2],
): Promise<string[]> {
  const failed = expired.flatMap(({ id, ...evidence }): FailedSubmission[] => {
    const decision = decide({ state: "queued", ...evidence });
    return decision.move === "fail" ? [{ id, ...decision.failure, condition: "queued" }] : [];
  });
  await failSubmissions(held, failed, context);
  return failed.map(({ id }) => id);
}

/** Ends submissions as failed, and notifies their result lines. */
export async function failSubmissions(
  held: HeldLane,
  failed: readonly FailedSubmission[],
  { store, results, onNoncesFreed }: Pick<ReconcileContext, "store" | "results" | "onNoncesFreed">,
): Promise<void> {
  const byId = new Map(failed.map((failure) => [failure.id, failure]));
  const saved = await saveFailed(store, held, failed);
  if (saved.length > 0) onNoncesFreed?.();
  results.publish(saved, (id) => {
    const { reason = "NODE_REFUSED", message = "", values = {} } = byId.get(id) ?? {};
    return { state: "failed", reason, message, values };
  });
}
