import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneDependencies } from "./lane.js";
import { saveFailed, saveIncluded, saveRequeued } from "./store/advance.js";
import type { Lane } from "./store/lease.js";
import type { UnderWay } from "./store/underWay.js";

/**
 * Settles submissions whose waiver nonce the chain has used, by their receipts. One without a receipt was
 * displaced: another wrapper of the same key has its nonce, or the user has used theirs elsewhere.
 */
export async function settleUsed(
  held: Lane,
  used: readonly UnderWay[],
  dependencies: LaneDependencies,
): Promise<void> {
  if (used.length === 0) return;
  const { store, chain, results } = dependencies;
  const receipts = await chain.receipts(used.map((s) => s.innerHash));
  const included = used.flatMap(({ id }, i) => {
    const receipt = receipts[i];
    return receipt ? [{ id, ...receipt, reverted: !receipt.succeeded }] : [];
  });
  const reverted = new Map(included.map(({ id, reverted }) => [id, reverted]));
  results.publish(await saveIncluded(store, held, included), (id) => ({
    state: "included",
    reverted: reverted.get(id) === true,
  }));
  await settleDisplaced(
    held,
    used.filter((_, i) => receipts[i] === undefined),
    dependencies,
  );
}

/**
 * The sender's nonce decides: if it has moved on, the InnerTx can never run; else it is queued again. The nonces
 * are read after the receipts, and the receipts once more after the nonces, so that a block in between does not
 * count as a displacement.
 */
async function settleDisplaced(
  held: Lane,
  displaced: readonly UnderWay[],
  { store, chain, results, log }: LaneDependencies,
): Promise<void> {
  if (displaced.length === 0) return;
  const [waiverNonce = 0n, ...senderNonces] = await chain.nonces([
    held.waiver,
    ...displaced.map((s) => s.sender),
  ]);
  const receipts = await chain.receipts(displaced.map((s) => s.innerHash));
  const surely = displaced
    .map((submission, i) => ({ submission, next: senderNonces[i] ?? 0n, receipt: receipts[i] }))
    .filter(({ submission, receipt }) => receipt === undefined && submission.waiverNonce < waiverNonce);
  if (surely.length === 0) return;
  log.error(
    {
      waiver: bytesToHex(held.waiver),
      nonces: surely.map(({ submission }) => Number(submission.waiverNonce)),
    },
    "the waiver's nonces were used by other wrappers: does something else hold its key?",
  );
  const overtaken = new Map(
    surely
      .filter(({ submission, next }) => submission.senderNonce < next)
      .map(({ submission: { id, senderNonce }, next }) => {
        const message = `nonce ${senderNonce} was used by another transaction: the sender's next is ${next}`;
        return [id, { id, reason: "NONCE_TOO_LOW", message } as const];
      }),
  );
  const failed = await saveFailed(store, held, [...overtaken.values()]);
  results.publish(failed, (id) => ({
    state: "failed",
    reason: "NONCE_TOO_LOW",
    message: overtaken.get(id)?.message ?? "",
  }));
  const again = surely.map(({ submission }) => submission.id).filter((id) => !overtaken.has(id));
  await saveRequeued(store, held, again, 0);
}
