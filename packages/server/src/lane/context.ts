import type { WaiverAccount } from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/client/nodeClient.js";
import type { NonceProofs } from "../chain/nonceProof.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Patience } from "../model/patience.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Metrics } from "../model/telemetry/metrics.js";
import type { Results } from "../results/results.js";
import type { RevertCauses } from "../results/revertCauses.js";
import type { LaneSigner } from "../signing/laneSigner.js";
import type { Signer } from "../signing/signer.js";
import { isStoreUnavailable } from "../store/database/storeTrouble.js";
import { type HeldLane, LeaseLostError } from "../store/lanes/heldLane.js";
import { stopWorkingLane } from "../store/lanes/setLaneState.js";
import type { Store } from "../store/store.js";
import type { Routing } from "./choose/directory.js";
import type { LaneMemory } from "./inbox/laneMemory.js";
import type { LaneOffers } from "./inbox/laneOffers.js";
import type { Retries } from "./inbox/retries.js";
import type { BroadcastBuffer } from "./law/broadcastBuffer.js";
import type { Entries } from "./law/entries.js";
import type { Strikes, StruckTurn } from "./law/strikes.js";
import type { HeadOfLine } from "./send/head.js";
import type { SenderGaps } from "./send/senderNonces.js";
import type { LaneParties } from "./sign/plan.js";

/** The parts of the service that all lanes of this replica share. */
export interface LaneDependencies {
  readonly store: Store;
  readonly chain: NodeClient;
  readonly results: Pick<Results, "publish" | "notifyHere">;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly options: ResolvedOptions;
  readonly patience: Patience;
  readonly routing: Routing;
  readonly signer: Pick<Signer, "of">;
  /** Returns the height of the chain as it was last told. Without it, the search for what used a nonce begins earlier. */
  readonly head?: () => bigint | undefined;
  readonly strikes: Strikes;
  /** Without it, nobody looks for the causes of reverts. */
  readonly revertCauses?: Pick<RevertCauses, "find">;
  /** The chain's number in the store. */
  readonly chainRef: number;
  /** The name of this process among the replicas. */
  readonly replica: string;
}

/**
 * The parts that follow a lane's wrappers on the chain, and their memory between polls. They sign nothing. `log` names the
 * waiver in each record.
 */
export interface WatchContext extends Omit<LaneDependencies, "signer"> {
  readonly entries: Entries;
  readonly broadcastBuffer: BroadcastBuffer;
  readonly headOfLine: HeadOfLine;
  readonly struckTurn: StruckTurn;
  readonly retries: Retries;
  readonly senderGaps: SenderGaps;
  readonly nonceProofs: NonceProofs;
  /** Called when the lane has stopped itself, so that its next step reads the new state. */
  readonly onLaneStopped: () => void;
  /** Called after a write that may have freed nonces of the lane: its next step must know the gap. */
  readonly onNoncesFreed?: (() => void) | undefined;
}

/** The parts of a lane that also signs. */
export interface LaneContext extends WatchContext {
  readonly account: WaiverAccount;
  readonly laneSigner: LaneSigner;
  readonly laneMemory: LaneMemory;
  /** The parties that use the lane at present. */
  readonly parties: LaneParties;
  readonly laneOffers: Omit<LaneOffers, "offer">;
}

/**
 * Stops a lane that takes work until an operator opens it, and says so.
 * @param sentence what the operator is to know or do.
 */
export async function stopLane(
  held: HeldLane,
  reason: string,
  sentence: string,
  { store, log, onLaneStopped }: Pick<WatchContext, "store" | "log" | "onLaneStopped">,
  stop: () => Promise<boolean> = () => stopWorkingLane(store, held, reason),
): Promise<void> {
  if (!(await stop())) return;
  onLaneStopped();
  log.fatal({ reason }, `the lane stops${sentence}`);
}

/** Logs an error of one of the lane's loops. The loop tries again. */
export function logFailure(log: Logger, error: unknown, loop: string): void {
  const err = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (error instanceof LeaseLostError) log.warn({ err }, `${loop}: the lane has another owner`);
  // The store's monitor reports its troubles, once for all lanes.
  else if (isStoreUnavailable(error)) log.debug({ err }, `${loop}: tries again when the store works`);
  else log.warn({ err }, `${loop}: tries again`);
}
