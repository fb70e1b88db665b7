import type { HeldLane } from "../../src/store/lanes/heldLane.js";
import { type Lease, type LeaseOptions, takeLeases } from "../../src/store/lanes/lease.js";
import type { Store } from "../../src/store/store.js";

/** Takes or renews the lease of one lane, as a replica does for all of its own. @returns undefined if it cannot be had now. */
export async function takeLease(
  store: Store,
  { waiver, ...rest }: Omit<HeldLane, "epoch">,
  leaseMs: number,
  options?: LeaseOptions,
): Promise<Lease | undefined> {
  return (await takeLeases(store, rest, [waiver], leaseMs, options)).leases[0];
}
