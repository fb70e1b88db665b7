import { bytesEqual, type SendVerdict } from "@gas-waiver/protocol";
import { classifySendOutcome } from "../chain/classifySendOutcome.js";
import type { Failure } from "../model/submission.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findInFlight, type InFlightSubmission } from "../store/lanes/inFlight.js";
import { findWithdrawnWrappers } from "../store/lanes/withdrawnWrappers.js";
import { saveRequeued } from "../store/transitions/saveRequeued.js";
import type { LaneContext } from "./lane.js";
import { failSubmissions, reconcile } from "./reconcile.js";
import { createSenderGaps, type SenderGaps } from "./senderGaps.js";

/** Sends stored wrappers and stores what the node's answers mean. */
export interface Broadcaster {
  /**
   * Sends the bytes in the order given, a hundred at a time, and brings the submissions a step on.
   * @throws {@link UndeliveredError} if some of them may not be with a node afterwards: nothing new may be signed.
   */
  send(held: HeldLane, submissions: readonly InFlightSubmission[]): Promise<void>;
  /**
   * The same with all that is signed: after a start, a takeover or a failure.
   * @throws {@link UndeliveredError} likewise.
   */
  resendSigned(held: HeldLane): Promise<void>;
}

/** The node did not take some wrappers, and did not refuse them either: the same bytes are to be sent again. */
export class NotBroadcastError extends Error {
  override readonly name = "UndeliveredError";
}

/** How often the same unknown error is heard before it counts as a refusal. */
const DISPUTES = 3;
/** When what the node would not take yet is looked at again. */
const REQUEUE_MS = {
  "nonce gap": 50,
  "inner too early": 250,
  "inner too late": 250,
  "waiver unusable": 1_000,
  shut: 250,
} as const;

type Answered = { readonly submission: InFlightSubmission; readonly meaning: SendVerdict };

/** The lane's breaker, and where its state is shown. */
export interface LaneBreaker {
  succeed(): Promise<void>;
  fail(severity: "once" | "at once", why: string): Promise<void>;
}

export function createBroadcaster(dependencies: LaneContext, breaker: LaneBreaker): Broadcaster {
  const { store, chain, options } = dependencies;
  const senders = createSenderGaps(chain);
  // How often the node answered a wrapper with an error that we do not know.
  const disputes = new Map<string, number>();
  const settleDispute = async (answered: Answered): Promise<Answered> => {
    const { submission, meaning } = answered;
    if (meaning.kind !== "disputed") return answered;
    const times = (disputes.get(submission.id) ?? 0) + 1;
    disputes.set(submission.id, times);
    const [known] = await chain.knowsTransactions([submission.wrapperHash]);
    if (!known && times < DISPUTES) return answered;
    disputes.delete(submission.id);
    if (known) return { submission, meaning: { kind: "accepted" } };
    return { submission, meaning: { kind: "refused", reason: "NODE_REFUSED", said: meaning.said } };
  };
  const send: Broadcaster["send"] = async (held, submissions) => {
    if (submissions.length === 0) return;
    const outcomes = await chain.sendRawTransactions(submissions.map((s) => s.wrapperRaw));
    const answered: Answered[] = [];
    for (const [i, submission] of submissions.entries()) {
      const outcome = outcomes[i];
      if (outcome) answered.push(await settleDispute({ submission, meaning: classifySendOutcome(outcome) }));
    }
    await save(held, answered, dependencies, breaker, senders);
  };
  return {
    send,
    async resendSigned(held) {
      const all = await findInFlight(store, held, { limit: options.maxInFlight });
      await senders.rebuild(all);
      await send(
        held,
        all.filter(({ state }) => state === "signed"),
      );
    },
  };
}

/** Brings every submission the step on that the node's answer means. */
async function save(
  held: HeldLane,
  answered: readonly Answered[],
  dependencies: LaneContext,
  breaker: LaneBreaker,
  senders: SenderGaps,
): Promise<void> {
  const { store, metrics, broadcastBuffer } = dependencies;
  for (const { meaning } of answered) metrics.sent(meaning.kind);
  const of = (kind: SendVerdict["kind"]) => answered.filter(({ meaning }) => meaning.kind === kind);
  const idsOf = (kind: SendVerdict["kind"]) => of(kind).map(({ submission }) => submission.id);
  const { stranded, waiting } = await senders.classify(answered);
  const taken = of("accepted").map(({ submission }) => submission);
  broadcastBuffer.add(
    held,
    taken.filter(({ id }) => !stranded.has(id) && !waiting.has(id)),
  );
  await saveRequeued(store, held, [...stranded], REQUEUE_MS["inner too early"]);
  await failRefused(held, of("refused"), dependencies);
  for (const kind of ["nonce gap", "inner too early", "inner too late", "waiver unusable"] as const) {
    await saveRequeued(store, held, idsOf(kind), REQUEUE_MS[kind]);
  }
  const used = of("nonce too low").map(({ submission }) => submission);
  await reconcile(held, used, dependencies);
  const known = await saveKnown(held, used, dependencies);
  const shut = await takeBackShut(
    held,
    of("occupied").map(({ submission }) => submission),
    dependencies,
  );
  const unusable = of("waiver unusable")[0];
  if (unusable) await breaker.fail("at once", `the node takes no wrapper of this waiver: ${said(unusable)}`);
  else if (of("accepted").length > 0) await breaker.succeed();
  const left = answered.filter(
    ({ submission, meaning }) =>
      waiting.has(submission.id) ||
      (isLeft(submission, meaning) && !known.has(submission.id) && !shut.has(submission.id)),
  );
  if (left[0] === undefined) return;
  const why = `${left[0].meaning.kind}: ${said(left[0])}`;
  // Nodes that are away are away for every lane: only what concerns this lane counts against it.
  if (left.some(({ meaning }) => meaning.kind === "occupied" || meaning.kind === "disputed")) {
    await breaker.fail("once", `the node does not take this waiver's wrappers: ${why}`);
  }
  throw new NotBroadcastError(`${left.length} wrapper(s) were not delivered: ${why}`);
}

/**
 * A strict pool that holds a wrapper may say of the same bytes that their nonce is too low, because it expects the
 * next one. Then the pool has it, and nothing is wrong.
 */
async function saveKnown(
  held: HeldLane,
  used: readonly InFlightSubmission[],
  { chain, broadcastBuffer }: LaneContext,
): Promise<ReadonlySet<string>> {
  if (used.length === 0) return new Set();
  const known = await chain.knowsTransactions(used.map(({ wrapperHash }) => wrapperHash));
  const there = used.filter((_, i) => known[i]);
  broadcastBuffer.add(held, there);
  return new Set(there.map(({ id }) => id));
}

/**
 * Takes back what cannot have its nonce because a wrapper that we took back earlier still waits under it: that one
 * may wait for nonces below it, and they for this one. Under what somebody else holds a nonce, it stays: the chain
 * tells who that was.
 */
async function takeBackShut(
  held: HeldLane,
  occupied: readonly InFlightSubmission[],
  { store, chain }: LaneContext,
): Promise<ReadonlySet<string>> {
  if (occupied.length === 0) return new Set();
  const nonces = occupied.map(({ waiverNonce }) => waiverNonce);
  const withdrawn = await findWithdrawnWrappers(store, held, nonces);
  const known = await chain.knowsTransactions(withdrawn.map(({ wrapperHash }) => wrapperHash));
  const ours = new Map(
    withdrawn.filter((_, i) => known[i]).map(({ waiverNonce, wrapperHash }) => [waiverNonce, wrapperHash]),
  );
  const shut = occupied.filter(({ waiverNonce, wrapperHash }) => {
    const there = ours.get(waiverNonce);
    return there !== undefined && !bytesEqual(there, wrapperHash);
  });
  const ids = shut.map(({ id }) => id);
  await saveRequeued(store, held, ids, REQUEUE_MS.shut);
  return new Set(ids);
}

/** Must the same bytes be sent again? What was broadcast before is sent again by the watcher. */
function isLeft(submission: InFlightSubmission, { kind }: SendVerdict): boolean {
  const stays = ["occupied", "not now", "disputed", "ambiguous", "nonce too low"];
  return submission.state === "signed" && stays.includes(kind);
}

/**
 * What is refused now may have been taken before, when nobody heard the answer: a rule that has changed since then
 * undoes no block, and what waits in the pool may run yet.
 */
async function failRefused(
  held: HeldLane,
  refused: readonly Answered[],
  dependencies: LaneContext,
): Promise<void> {
  const submissions = refused.map(({ submission }) => submission);
  await reconcile(held, submissions, dependencies);
  const known = await saveKnown(held, submissions, dependencies);
  const failures = refused.flatMap(({ submission: { id }, meaning }): (Failure & { id: string })[] => {
    if (meaning.kind !== "refused" || known.has(id)) return [];
    return [{ id, reason: meaning.reason, message: `the chain's node refuses it: ${meaning.said}` }];
  });
  await failSubmissions(held, failures, dependencies);
}

function said({ meaning }: Answered): string {
  return "said" in meaning ? meaning.said : "";
}
