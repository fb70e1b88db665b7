import { randomUUID } from "node:crypto";
import { createNodeClient, type NodeClient } from "../chain/nodeClient.js";
import { createRpc } from "../chain/rpc.js";
import { StartError } from "../model/errors.js";
import { createLog } from "../model/log.js";
import { isSameChain, lastChain } from "../store/chains.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findLaneStatuses, type LaneState, type LaneStatus } from "../store/lanes/laneStatus.js";
import { releaseLease, takeLease } from "../store/lanes/lease.js";
import { setLaneState } from "../store/lanes/setLaneState.js";
import { type AssignedNonce, findAssignedNonces } from "../store/lanes/waiverNonces.js";
import { openRunningStore, type Store, type StoreLocation } from "../store/store.js";
import { CONFIRM_MS, createConfirmations, type ReconcileContext, reconcile } from "./reconcile.js";
import { examine, type Finding } from "./sweep.js";

/** What an operator can do to lanes from outside of the service, while it runs or not. */
export interface LaneAdmin {
  list(): Promise<LaneStatus[]>;
  /** Opens, drains, retires or stops a lane; false if there is none for this waiver (20 bytes). It binds within a second. */
  set(waiver: Uint8Array, state: LaneState, reason?: string): Promise<boolean>;
  /**
   * Holds every lane's unfinished submissions against the chain. With `repair` it settles what it found, in lanes
   * that no service works; else it changes nothing.
   */
  examine(rpcUrl: string, options: { readonly repair: boolean }): Promise<LaneFindings[]>;
  close(): Promise<void>;
}

export interface LaneFindings {
  readonly lane: LaneStatus;
  /** The chain's next nonce of the waiver. */
  readonly chainNonce: bigint;
  /** The lane's waiver nonces that wait for a block, lowest and highest. */
  readonly taken: { readonly lowest: bigint; readonly highest: bigint; readonly count: number } | undefined;
  readonly findings: readonly Finding[];
  /** The findings were settled: here, or they are by the service that works the lane. */
  readonly repaired: boolean;
}

/**
 * Opens the store of a service: by its database URL, or, while the service runs, by its data folder.
 * @throws {@link StartError} if it cannot be reached or belongs to no chain yet.
 */
export async function openLaneAdmin(location: StoreLocation): Promise<LaneAdmin> {
  const store = await openRunningStore(location, createLog("silent"));
  const known = await lastChain(store);
  if (known === undefined) {
    await store.close();
    throw new StartError("the store has served no chain yet");
  }
  const { chainRef } = known;
  return {
    list: () => findLaneStatuses(store, chainRef),
    set: (waiver, state, reason) => setLaneState(store, chainRef, waiver, state, reason),
    async examine(rpcUrl, { repair }) {
      const signal = new AbortController().signal;
      const chain = createNodeClient(createRpc({ rpcUrls: [rpcUrl], rpcTimeoutMs: 5_000, signal }));
      const unusable = (error: Error) => new StartError(`the chain's node cannot be used: ${error.message}`);
      const identity = await chain.identity().catch((error: Error) => Promise.reject(unusable(error)));
      if (!isSameChain(identity, known.identity)) {
        throw new StartError("the node is on another chain than the one that the store belongs to");
      }
      const all: LaneFindings[] = [];
      for (const lane of await findLaneStatuses(store, chainRef)) {
        const place = { chain: chainRef, waiver: lane.waiver };
        const [chainNonce = 0n] = await chain.nonces([lane.waiver]);
        const taken = rangeOf(await findAssignedNonces(store, place));
        const findings = await examine(place, { store, chain });
        const repaired = repair && lane.owner === undefined && findings.length > 0;
        if (repaired) await settleFindings(place, findings, { store, chain });
        all.push({ lane, chainNonce, taken, findings, repaired });
      }
      return all;
    },
    close: () => store.close(),
  };
}

function rangeOf(taken: readonly AssignedNonce[]): LaneFindings["taken"] {
  const [lowest, highest] = [taken[0]?.waiverNonce, taken.at(-1)?.waiverNonce];
  if (lowest === undefined || highest === undefined) return undefined;
  return { lowest, highest, count: taken.length };
}

/** Long enough to settle some findings, and no longer than a service believes of another. */
const LEASE_MS = 4_000;

/** Takes the lane that nobody works for as long as it needs; what must hold for a while is looked at twice. */
async function settleFindings(
  place: Pick<HeldLane, "chain" | "waiver">,
  findings: readonly Finding[],
  { store, chain }: { readonly store: Store; readonly chain: NodeClient },
): Promise<void> {
  const lease = await takeLease(store, { ...place, owner: randomUUID() }, LEASE_MS);
  if (lease === undefined) throw new StartError("a service has begun to work the lane: it repairs by itself");
  const context: ReconcileContext = {
    store,
    chain,
    results: { publish: () => {} },
    log: createLog("silent"),
    options: { reorgDepth: 0 },
    confirmations: createConfirmations(),
    onLaneStopped: () => {},
  };
  const candidates = findings.map(({ candidate }) => candidate);
  try {
    await reconcile(lease.lane, candidates, context);
    await new Promise((resolve) => setTimeout(resolve, CONFIRM_MS));
    await reconcile(lease.lane, candidates, context);
  } finally {
    await releaseLease(store, lease.lane);
  }
}
