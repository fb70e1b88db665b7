import { hexToBytes } from "@gas-waiver/protocol";
import { forgetReplica, keepAlive } from "../../store/lanes/replicas.js";
import type { Schedule } from "../../util/schedule.js";
import { type LaneDependencies, logFailure } from "../context.js";
import { planHandovers } from "./spread.js";

/** Spreads the lanes over the replicas that are alive and have their keys. */
export interface Spreading {
  /**
   * Stops, and records that this replica has ended. Call it before the lanes are released, so that this replica is handed
   * no lane.
   */
  close(): Promise<void>;
}

export interface SpreadingDependencies
  extends Pick<LaneDependencies, "store" | "chainRef" | "replica" | "log" | "options"> {
  readonly schedule: Schedule;
  /** The waivers of this replica's lanes. */
  waivers(): readonly Uint8Array[];
  /** Has the lane of this waiver finish its step and go to another replica. */
  handOver(waiver: Uint8Array, to: string): void;
}

/** The longest time between two reads of the other replicas, in ms. */
const ROUND_MS = 1_000;

/** Starts to record that this replica is alive, and to hand over its lanes above its share. */
export function startSpreading(dependencies: SpreadingDependencies): Spreading {
  const { store, chainRef: chain, replica: id, log, options } = dependencies;
  const rounds = dependencies.schedule.look(async () => {
    const { replicas, lanes } = await keepAlive(
      store,
      { chain, id },
      dependencies.waivers(),
      options.leaseMs,
    );
    for (const { waiver, from, to } of planHandovers(replicas, lanes)) {
      if (from !== id) continue;
      log.info({ waiver: `0x${waiver}`, to }, "the lane goes to a replica that has fewer");
      dependencies.handOver(hexToBytes(`0x${waiver}`), to);
    }
    return Math.min(ROUND_MS, options.leaseMs / 3);
  }, 0);
  return {
    async close() {
      await rounds.end();
      await forgetReplica(store, { chain, id }).catch((error: unknown) => logFailure(log, error, "spread"));
    },
  };
}
