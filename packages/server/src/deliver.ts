import { bytesToHex } from "@gas-waiver/protocol";
import { meaningOf, type SendMeaning } from "./broadcast.js";
import type { LaneDependencies } from "./lane.js";
import { settleUsed } from "./settle.js";
import { saveBroadcast, saveFailed, saveRequeued } from "./store/advance.js";
import type { Lane } from "./store/lease.js";
import type { UnderWay } from "./store/underWay.js";
import type { Failure } from "./submission.js";

/** Sends stored wrappers and stores what the node's answers mean. */
export interface Delivery {
  /**
   * Sends the bytes in the order given, as one batch, and brings the submissions a step on.
   * @throws {@link UndeliveredError} if some of them are still `signed` afterwards: nothing new may be signed.
   */
  send(held: Lane, submissions: readonly UnderWay[]): Promise<void>;
}

/** The node did not take some wrappers, and did not refuse them either: the same bytes are to be sent again. */
export class UndeliveredError extends Error {
  override readonly name = "UndeliveredError";
}

/** How often the same unknown error is heard before it counts as a refusal. */
const DISPUTES = 3;
/** When what the node would not take yet is looked at again. */
const REQUEUE_MS = { "nonce gap": 50, "inner too early": 250, "waiver unusable": 1_000 } as const;

type Answered = { readonly submission: UnderWay; readonly meaning: SendMeaning };

export function createDelivery(dependencies: LaneDependencies): Delivery {
  const { chain } = dependencies;
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
  return {
    async send(held, submissions) {
      if (submissions.length === 0) return;
      const outcomes = await chain.sendRawTransactions(submissions.map((s) => s.wrapperRaw));
      const answered: Answered[] = [];
      for (const [i, submission] of submissions.entries()) {
        const outcome = outcomes[i];
        if (outcome) answered.push(await settleDispute({ submission, meaning: meaningOf(outcome) }));
      }
      await save(held, answered, dependencies);
    },
  };
}

/** Brings every submission the step on that the node's answer means. */
async function save(
  held: Lane,
  answered: readonly Answered[],
  dependencies: LaneDependencies,
): Promise<void> {
  const { store, results, log } = dependencies;
  const idsOf = (kind: SendMeaning["kind"]) =>
    answered.filter(({ meaning }) => meaning.kind === kind).map(({ submission }) => submission.id);
  results.publish(await saveBroadcast(store, held, idsOf("accepted")), () => ({ state: "broadcast" }));
  await saveRefused(held, answered, dependencies);
  for (const kind of ["nonce gap", "inner too early", "waiver unusable"] as const) {
    await saveRequeued(store, held, idsOf(kind), REQUEUE_MS[kind]);
  }
  const tooLow = answered.filter(({ meaning }) => meaning.kind === "nonce too low");
  await settleUsed(
    held,
    tooLow.map(({ submission }) => submission),
    dependencies,
  );
  const unusable = answered.find(({ meaning }) => meaning.kind === "waiver unusable");
  if (unusable)
    log.error(
      { waiver: bytesToHex(held.waiver), said: said(unusable) },
      "the node takes no wrapper of this waiver",
    );
  const left = answered.filter(({ submission, meaning }) => isLeft(submission, meaning));
  if (left[0]) {
    const { meaning } = left[0];
    throw new UndeliveredError(
      `${left.length} wrapper(s) were not delivered: ${meaning.kind}: ${said(left[0])}`,
    );
  }
}

/** Must the same bytes be sent again? What was broadcast before is sent again by the watcher. */
function isLeft(submission: UnderWay, { kind }: SendMeaning): boolean {
  const stays = ["occupied", "not now", "disputed", "ambiguous", "waiver unusable", "nonce too low"];
  return submission.state === "signed" && stays.includes(kind);
}

async function saveRefused(
  held: Lane,
  answered: readonly Answered[],
  { store, results, log }: LaneDependencies,
): Promise<void> {
  const refused = new Map<string, Failure & { id: string }>();
  for (const { submission, meaning } of answered) {
    if (meaning.kind !== "refused") continue;
    const message = `the chain's node refuses it: ${meaning.said}`;
    refused.set(submission.id, { id: submission.id, reason: meaning.reason, message });
    log.info({ id: submission.id, said: meaning.said }, "the node refuses a submission");
  }
  const failed = await saveFailed(store, held, [...refused.values()]);
  results.publish(failed, (id) => {
    const { reason = "NODE_REFUSED", message = "" } = refused.get(id) ?? {};
    return { state: "failed", reason, message };
  });
}

function said({ meaning }: Answered): string {
  return "said" in meaning ? meaning.said : "";
}
