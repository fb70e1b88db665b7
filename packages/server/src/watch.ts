import { type Delivery, UndeliveredError } from "./deliver.js";
import type { LaneDependencies } from "./lane.js";
import { settleUsed } from "./settle.js";
import type { Lane } from "./store/lease.js";
import { underWay } from "./store/underWay.js";

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
  try {
    await delivery.send(held, stale);
  } catch (error) {
    // What cannot be delivered now is sent again on the next look.
    if (!(error instanceof UndeliveredError)) throw error;
  }
}
