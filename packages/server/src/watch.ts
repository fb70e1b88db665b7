import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import { type Delivery, UndeliveredError } from "./deliver.js";
import type { LaneDependencies } from "./lane.js";
import { settleUsed } from "./settle.js";
import { saveRequeued } from "./store/advance.js";
import type { Lane } from "./store/lease.js";
import { type UnderWay, underWay } from "./store/underWay.js";

/** Receipts asked for at once. */
const BATCH = 200;

/**
 * Looks at the chain once: settles what the waiver's nonce has passed, and sends again what has waited too long
 * for a block (a pool may forget).
 */
export async function follow(held: Lane, dependencies: LaneDependencies, delivery: Delivery): Promise<void> {
  const { store, chain, options } = dependencies;
  const waiting = await underWay(store, held, { limit: 1 });
  if (waiting.length === 0) return;
  const [waiverNonce = 0n] = await chain.nonces([held.waiver]);
  await settleUsed(
    held,
    await underWay(store, held, { belowNonce: waiverNonce, limit: BATCH }),
    dependencies,
  );
  const sentBeforeMs = options.resendAfterMs;
  const stale = await underWay(store, held, { state: "broadcast", sentBeforeMs, limit: BATCH });
  const stuck = await takeBackStuck(held, stale, dependencies);
  try {
    await delivery.send(
      held,
      stale.filter(({ id }) => !stuck.has(id)),
    );
  } catch (error) {
    // What cannot be delivered now is sent again on the next look.
    if (!(error instanceof UndeliveredError)) throw error;
  }
}

/** All that a lane may have under way. */
const ALL = 10_000;

/**
 * Takes back what cannot run where it stands: the sender's nonce before it is neither used nor carried by a wrapper
 * in front (it failed, or was taken back itself). A queueing pool would hold its wrapper again and again, and with
 * it everything behind. Only what the node has dropped is taken back: the wrapper must not land after all.
 */
async function takeBackStuck(
  held: Lane,
  stale: readonly UnderWay[],
  { store, chain, log }: LaneDependencies,
): Promise<ReadonlySet<string>> {
  if (stale.length === 0) return new Set();
  const senders = new Map(stale.map(({ sender }) => [bytesToHex(sender), sender]));
  const inFront = await underWay(store, held, { limit: ALL });
  const nonces = await chain.nonces([...senders.values()]);
  const turns = new Map([...senders.keys()].map((sender, i) => [sender, nonces[i] ?? 0n]));
  const waiting = new Set<string>();
  for (const { id, sender, senderNonce } of inFront) {
    const turn = turns.get(bytesToHex(sender));
    if (turn === undefined) continue;
    if (senderNonce > turn) waiting.add(id);
    else if (senderNonce === turn) turns.set(bytesToHex(sender), turn + 1n);
  }
  const suspects = stale.filter(({ id }) => waiting.has(id));
  if (suspects.length === 0) return new Set();
  const known = await chain.knowsTransactions(suspects.map(({ wrapperHash }) => wrapperHash));
  const dropped = suspects.filter((_, i) => !known[i]);
  const ids = dropped.flatMap((first) =>
    inFront.filter((other) => isBehind(first, other)).map(({ id }) => id),
  );
  const stuck = await saveRequeued(store, held, [...new Set(ids)], 0);
  if (stuck.length > 0) log.info({ ids: stuck }, "submissions wait for their senders' earlier ones");
  return new Set(ids);
}

/** Of the same sender, at its place in the lane or behind it: they come back together, in their order. */
function isBehind(first: UnderWay, other: UnderWay): boolean {
  return other.waiverNonce >= first.waiverNonce && bytesEqual(other.sender, first.sender);
}
