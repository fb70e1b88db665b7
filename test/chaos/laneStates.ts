import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex } from "@gas-waiver/protocol";
import type { Environment } from "./environment.js";
import type { Finding } from "./ledgers.js";

/** The reason of a lane that a fault of the run has stopped or drains. */
export const FAULT_REASON = "a fault of the run";
/** The service's own reason of a lane that has drained. */
const DRAINED = "drained";

/** Opens the lanes of which a failover has forgotten that the run opened them again. */
export async function reopenLanes({ lanes, storeLoss }: Environment): Promise<void> {
  if (storeLoss.size === 0) return;
  await retry(async () => {
    for (const { waiver, state, reason } of await lanes.list())
      if (state !== "open" && (reason === FAULT_REASON || reason === DRAINED))
        await lanes.set(waiver, "open");
  });
}

/** Finds the lanes that the service itself has stopped. None has a cause for it, unless the chain has lost final blocks. */
export async function findFalseStops({ lanes }: Environment): Promise<Finding[]> {
  // The run's own connection may still be to a server that is no longer the primary.
  const statuses = await retry(() => lanes.list());
  return statuses
    .filter(({ state, reason }) => state === "stopped" && reason !== FAULT_REASON)
    .map(({ waiver, reason }) => ({
      violation: "falseStop",
      text: `the lane of ${bytesToHex(waiver)} stopped: ${reason}`,
    }));
}

const MAX_ATTEMPTS = 50;

/** Repeats an action that needs the database, which another fault may have stopped. */
export async function retry<T>(run: () => Promise<T>): Promise<T> {
  for (let i = 1; ; i++) {
    try {
      return await run();
    } catch (error) {
      if (i === MAX_ATTEMPTS) throw error;
      await sleep(200);
    }
  }
}
