import { randomUUID } from "node:crypto";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import { createNonceProofs, SEARCH_AFTER_MS } from "../../chain/nonceProof.js";
import { StartError } from "../../model/errors.js";
import { createLog } from "../../model/telemetry/log.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { releaseLease, takeLeases } from "../../store/lanes/lease.js";
import type { Store } from "../../store/store.js";
import { Entries } from "../law/entries.js";
import { type ReconcileContext, reconcile } from "../law/reconcile.js";
import type { Finding } from "../watch/doubts.js";

/** Long enough to repair a lane, and no longer than `LONGEST_LEASE_MS`, beyond which a service would take the lane over. */
const LEASE_MS = 4_000;
/** The time for the proofs of outcomes, within the lease. */
const MAX_SEARCH_MS = 1_000;

/** Takes the lease of a lane that nobody owns, and reconciles twice: blocks must prove some outcomes. */
export async function repairLane(
  key: Pick<HeldLane, "chain" | "waiver">,
  findings: readonly Finding[],
  { store, chain }: { readonly store: Store; readonly chain: NodeClient },
): Promise<void> {
  const by = { chain: key.chain, owner: randomUUID(), watchOnly: true };
  const { leases } = await takeLeases(store, by, [key.waiver], LEASE_MS);
  const [lease] = leases;
  if (lease === undefined)
    throw new StartError("a service has taken over the lane, and repairs it by itself");
  const context = {
    store,
    chain,
    results: { publish: () => {} },
    log: createLog("silent"),
    options: { reorgDepth: 0 },
    entries: new Entries(),
    nonceProofs: createNonceProofs({ chain, reorgDepth: 0 }),
    onLaneStopped: () => {},
  } satisfies ReconcileContext;
  const candidates = findings.map(({ candidate }) => candidate);
  try {
    await reconcile(lease.lane, candidates, context);
    await new Promise((resolve) => setTimeout(resolve, SEARCH_AFTER_MS));
    const startedAt = performance.now();
    while (performance.now() - startedAt < MAX_SEARCH_MS && (await context.nonceProofs.search()) !== "rest");
    await reconcile(lease.lane, candidates, context);
  } finally {
    await releaseLease(store, lease.lane);
  }
}
