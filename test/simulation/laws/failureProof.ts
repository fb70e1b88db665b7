import { classifySendError, type Hex, type SendVerdictKind } from "@gas-waiver/protocol";
import type { Wrapper } from "../chain/wrapper.js";
import type { SimulatedChain } from "../nodes/simulatedChain.js";
import type { UserSubmission } from "../users/submission.js";
import type { ChainLoss } from "./chainLoss.js";
import type { EvidenceLedger } from "./evidenceLedger.js";

export interface ProofSources {
  readonly chain: SimulatedChain;
  readonly ledger: EvidenceLedger;
  readonly loss: ChainLoss;
  readonly submissions: () => readonly UserSubmission[];
  readonly maxQueueMs: number;
  readonly nonceGapMs: number;
  /** A failover of the database loses what was accepted before this moment, in ms. */
  readonly lossUntil: number;
}

/** A failure of a submission, as a line or a record tells it. */
export interface ToldFailure {
  readonly at: number;
  readonly reason: string | undefined;
  readonly message: string | undefined;
}

/** The times of lines and records are some ms later than the decision. */
const SLACK_MS = 1_500;
/** A node that answers so does not have the wrapper. */
const NOT_TAKEN: ReadonlySet<SendVerdictKind | undefined> = new Set([
  ...(["refused", "nonce gap", "inner too early", "inner too late", "waiver unusable"] as const),
]);
/** The service may know the registry by a state that is older by so much. */
const REGISTRY_SECONDS = 30;

/** Returns what is wrong with a failure: undefined if there was proof for it (S1, S3). */
export function unproven(
  submission: UserSubmission,
  failure: ToldFailure,
  sources: ProofSources,
): { readonly law: "S1" | "S3"; readonly why: string } | undefined {
  const { chain, ledger, loss } = sources;
  const { sender, nonce } = submission;
  if (isUsedByAnother(submission, chain)) return undefined;
  const wrappers = ledger.wrappersOf(submission.innerHash);
  const delivered = wrappers.filter(({ hash }) => ledger.deliveriesOf(hash) > 0);
  const kinds = new Map(delivered.map(({ hash }) => [hash, lastRefusalOf(hash, submission, ledger)]));
  const isOpen = ({ hash, waiver, nonce }: Wrapper) =>
    !NOT_TAKEN.has(kinds.get(hash)) && chain.nonceOf(waiver) <= nonce && !loss.hasNonce(waiver, nonce);
  const open = delivered.filter(isOpen).length;
  if (open === 0 && [...kinds.values()].includes("refused")) return undefined;
  const age = failure.at - submission.triedAt;
  const { reason = "no reason", message = "" } = failure;
  if (reason === "NOT_BROADCAST" && age + SLACK_MS < sources.maxQueueMs)
    return { law: "S3", why: `failed for its age after ${Math.round(age)} ms: ${message}` };
  if (open > 0)
    return {
      law: "S1",
      why: `failed (${reason}: ${message}) although ${delivered.length} wrapper(s) were sent, ${open} of which may still land`,
    };
  if (reason === "NOT_BROADCAST") return undefined;
  if (reason === "WAIVER_NOT_REGISTERED" && wasWithoutWaiver(chain)) return undefined;
  // Without a wrapper it cannot land, and each node tells the same wrong nonce of its sender (D28).
  if (reason === "NONCE_TOO_LOW" && wrappers.length === 0 && ledger.isPast(sender, nonce)) return undefined;
  if (reason === "NONCE_GAP") return unprovenGap(submission, failure.at, sources);
  return { law: "S1", why: `failed (${reason}: ${message}) and no wrapper of it may still land` };
}

/** The sender's nonce belongs to another transaction. */
function isUsedByAnother({ sender, nonce, innerHash }: UserSubmission, chain: SimulatedChain): boolean {
  return chain.nonceOf(sender) > BigInt(nonce) && chain.blockOf(innerHash) === undefined;
}

/** No waiver of the service was registered in one of the newest blocks, or in one whose place it has taken. */
function wasWithoutWaiver({ head, lastWithoutWaiver }: SimulatedChain): boolean {
  return head.timestamp - lastWithoutWaiver <= REGISTRY_SECONDS;
}

/**
 * The kind of the last answer to a wrapper; undefined unless each request that ever carried its bytes was answered by a rule for which the
 * node does not have it. Bytes that are signed anew under the same nonce are the same.
 */
function lastRefusalOf(
  hash: Hex,
  { innerHash }: UserSubmission,
  ledger: EvidenceLedger,
): SendVerdictKind | undefined {
  const answers = ledger.refusalsOf(innerHash).filter((one) => one.hash === hash);
  const kinds = answers.map(({ error }) => classifySendError(error).kind);
  const isNowhere = kinds.length === ledger.deliveriesOf(hash) && kinds.every((kind) => NOT_TAKEN.has(kind));
  return isNowhere ? kinds.at(-1) : undefined;
}

function unprovenGap({ user, nonce, sender, triedAt }: UserSubmission, at: number, sources: ProofSources) {
  const { chain, submissions, nonceGapMs, ledger, loss, lossUntil } = sources;
  const law = "S1" as const;
  const age = at - triedAt;
  if (chain.nonceOf(sender) >= BigInt(nonce))
    return { law, why: "NONCE_GAP although no nonce before it is missing" };
  if (age + SLACK_MS < nonceGapMs)
    return { law: "S3" as const, why: `NONCE_GAP after ${Math.round(age)} ms` };
  const isUnderWay = (before: number) => {
    const holder = submissions().find((one) => one.user === user && one.nonce === before);
    if (holder?.acceptedAt === undefined) return false;
    const isLost = holder.acceptedAt <= lossUntil || loss.hasExecution(holder.innerHash);
    const isSent = ledger.wrappersOf(holder.innerHash).length > 0;
    // After it was told as a success, only the store and its successors tell that it has failed.
    const mayHaveFailed =
      unproven(holder, { at, reason: "NOT_BROADCAST", message: undefined }, sources) === undefined;
    return isSent && !isLost && !mayHaveFailed && holder.lines.every(({ success }) => success);
  };
  const next = Number(chain.nonceOf(sender));
  const before = Array.from({ length: nonce - next }, (_, i) => next + i);
  return before.every(isUnderWay)
    ? { law, why: `NONCE_GAP although all nonces from ${next} on before it are under way` }
    : undefined;
}
