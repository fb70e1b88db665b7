import { setTimeout as sleep } from "node:timers/promises";
import type { RegistryChange } from "@gas-waiver/devnet";
import type { Hex } from "@gas-waiver/protocol";
import type { Environment } from "./environment.js";

/** Registers the waivers whose registration a reorg has taken away after a fault of the run had given it back. */
export async function registerWaivers(environment: Environment): Promise<void> {
  for (const waiver of environment.waivers) await changeRegistry(environment, "register", waiver);
}

/**
 * Lets the validators change the registry, and waits for the change: it takes a block, which may be late, and the pool
 * may evict the votes.
 */
export async function changeRegistry(
  { chain }: Pick<Environment, "chain">,
  action: RegistryChange["action"],
  waiver: Hex,
): Promise<void> {
  for (;;) {
    try {
      await chain.call(`devnet_${action}Waiver`, { waiver });
    } catch (error) {
      if (/is not a registered waiver|is a registered waiver already/.test((error as Error).message)) return;
      throw error;
    }
    for (let pending = true; pending; await sleep(100)) {
      const { faults } = await chain.call<{ faults: { registry: RegistryChange[] } }>("devnet_status");
      const latest = faults.registry.findLast((change) => change.waiver === waiver);
      pending = latest?.action === action && (latest.state === "sent" || latest.state === "scheduled");
    }
  }
}
