import type { HeldLane } from "../../src/store/lanes/heldLane.js";
import { type Lease, type LeaseTaker, takeLeases } from "../../src/store/lanes/lease.js";
import type { Store } from "../../src/store/store.js";

/** Takes or renews the lease of one lane, as a replica does for all of its own. @returns undefined if it cannot be had now. */
export async function takeLease(
  store: Store,
  { waiver, ...taker }: Pick<HeldLane, "waiver"> & LeaseTaker,
  leaseMs: number,
): Promise<Lease | undefined> {
  return (await takeLeases(store, taker, [waiver], leaseMs)).leases[0];
}
