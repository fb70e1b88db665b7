import { bytesEqual, bytesToHex, hexToBytes, type WaiverAccount } from "@gas-waiver/protocol";
import { connectNode } from "../../chain/servedChain.js";
import { StartError } from "../../model/errors.js";
import type { Actor, AuditAction } from "../../model/keys/auditRecord.js";
import { createLog } from "../../model/telemetry/log.js";
import { lastEntryOfWaiver, recordEvent } from "../../store/audit/audit.js";
import { lastChain } from "../../store/chains.js";
import { inTransaction } from "../../store/database/transaction.js";
import { findLaneStatuses, type LaneState, type LaneStatus } from "../../store/lanes/laneStatus.js";
import { findInFlight, type InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import { findReplicas, requestReload } from "../../store/lanes/replicas.js";
import { setLaneState } from "../../store/lanes/setLaneState.js";
import { openRunningStore, type Store, type StoreLocation } from "../../store/store.js";
import { examine, type Finding } from "../watch/doubts.js";
import { findLostInclusion, type LostInclusion } from "../watch/lost.js";
import { type CancelledNonce, type CancelTerms, cancelNonce } from "./cancelNonce.js";
import { repairLane } from "./repairLane.js";

/** The operations on lanes for an operator, from outside of the service, whether it runs or not. */
export interface LaneAdmin {
  list(): Promise<LaneStatus[]>;
  /**
   * Opens, drains, retires or stops a lane. It takes effect within a second.
   * @param waiver 20 bytes.
   * @returns false if there is no lane for this waiver.
   */
  set(waiver: Uint8Array, state: LaneState, reason?: string): Promise<boolean>;
  /** Lists the replicas that are alive, with the waivers whose keys each has. */
  replicas(): Promise<ReplicaWaivers[]>;
  /** Asks all replicas to read the waivers' keys from their files again. A new key shows in {@link replicas}. */
  reload(): Promise<void>;
  /** Records in the audit that `successor` is to take the place of the waiver. */
  recordRotation(waiver: Uint8Array, successor: Uint8Array): Promise<void>;
  /** Returns the waiver that was last recorded to take the place of this one. */
  successorOf(waiver: Uint8Array): Promise<Uint8Array | undefined>;
  /**
   * Compares every lane's unfinished submissions, nonces and newest blocks with the chain. With `repair`, the submissions
   * of lanes without an owner get the outcomes that the chain shows; otherwise nothing changes.
   * @throws {@link StartError} if the node cannot be used, or is on another chain than the store.
   */
  examine(rpcUrls: readonly string[], options: { readonly repair: boolean }): Promise<LaneFindings[]>;
  /**
   * Uses the waiver's next nonce for a transaction of the waiver to itself, which pays, so that a jammed lane goes on.
   * @throws {@link StartError} if the node cannot be used, or takes no such transaction.
   */
  cancelNonce(
    account: WaiverAccount,
    rpcUrls: readonly string[],
    terms: CancelTerms,
  ): Promise<CancelledNonce>;
  close(): Promise<void>;
}

/** A replica that is alive. */
export interface ReplicaWaivers {
  /** The UUID of the replica. */
  readonly id: string;
  /** 20 bytes each. */
  readonly waivers: readonly Uint8Array[];
}

export interface LaneFindings {
  readonly lane: LaneStatus;
  /** The chain's next nonce of the waiver. */
  readonly chainNonce: bigint;
  /** The range of the lane's waiver nonces that wait for a block. */
  readonly assigned:
    | { readonly lowest: bigint; readonly highest: bigint; readonly count: number }
    | undefined;
  readonly findings: readonly Finding[];
  /** An inclusion in the lane that the node does not show; undefined if there is none. */
  readonly lost: LostInclusion | undefined;
  /** The waiver nonces below the assigned ones that no wrapper has; undefined if none is missing. */
  readonly missing: { readonly lowest: bigint; readonly highest: bigint } | undefined;
  /** The findings were reconciled with the chain. A lane that a service owns is repaired by that service. */
  readonly repaired: boolean;
}

/** The entry of the audit for each state that an operator sets. */
const LANE_ACTIONS = {
  open: "open-lane",
  draining: "drain-lane",
  retired: "retire-lane",
  stopped: "stop-lane",
} as const satisfies Record<LaneState, AuditAction>;

/**
 * Opens the store of a service: by its database URL, or, while the service runs, by its data folder.
 * @param actor the name for the audit, which records each change.
 * @throws {@link StartError} if it cannot be reached or belongs to no chain yet.
 */
export async function openLaneAdmin(
  location: StoreLocation,
  actor: Actor | string = "unnamed program",
): Promise<LaneAdmin> {
  const store = await openRunningStore(location, createLog("silent"));
  const known = await lastChain(store);
  if (known === undefined) {
    await store.close();
    throw new StartError("the store has served no chain yet");
  }
  const { chainRef } = known;
  return {
    list: () => findLaneStatuses(store, chainRef),
    set: (waiver, state, reason) =>
      inTransaction(store, async (db) => {
        const isKnown = await setLaneState({ pool: db }, chainRef, waiver, state, reason);
        const changes = { state: { to: state }, ...(reason !== undefined && { reason: { to: reason } }) };
        if (isKnown) await recordEvent(db, { actor, action: LANE_ACTIONS[state], waiver, changes });
        return isKnown;
      }),
    ...rotationOf(store, chainRef, actor),
    async examine(rpcUrls, { repair }) {
      const chain = await connectNode(rpcUrls, known.identity);
      const all: LaneFindings[] = [];
      for (const lane of await findLaneStatuses(store, chainRef)) {
        const key = { chain: chainRef, waiver: lane.waiver };
        // Before the chain: a submission that ends in between is no difference.
        const assigned = rangeOf(await findInFlight(store, key));
        const [chainNonce = 0n] = await chain.nonces([lane.waiver]);
        const lost = await findLostInclusion(key, chainNonce, { store, chain });
        const findings = await examine(key, { store, chain });
        const repaired = repair && lane.owner === undefined && findings.length > 0;
        if (repaired) {
          const changes = { findings: { to: findings.length } };
          await recordEvent(store.pool, { actor, action: "repair-lane", waiver: lane.waiver, changes });
          await repairLane(key, findings, { store, chain });
        }
        const missing = missingBefore(assigned, chainNonce);
        all.push({ lane, chainNonce, assigned, findings, lost, missing, repaired });
      }
      return all;
    },
    async cancelNonce(account, rpcUrls, terms) {
      const lanes = await findLaneStatuses(store, chainRef);
      if (!lanes.some(({ waiver }) => bytesEqual(waiver, account.address)))
        throw new StartError(`the service has no lane for waiver ${bytesToHex(account.address)}`);
      const chain = await connectNode(rpcUrls, known.identity);
      const { chainId } = known.identity;
      return await cancelNonce(account, terms, { store, chain, chainRef, chainId, actor });
    },
    close: () => store.close(),
  };
}

function rotationOf(store: Store, chainRef: number, actor: Actor | string) {
  return {
    async replicas() {
      const found = await findReplicas(store, chainRef);
      return found.map(({ id, waivers }) => ({ id, waivers: waivers.map((hex) => hexToBytes(`0x${hex}`)) }));
    },
    reload: () => requestReload(store),
    recordRotation: (waiver: Uint8Array, successor: Uint8Array) =>
      recordEvent(store.pool, {
        actor,
        action: "rotate-waiver",
        waiver,
        changes: { successor: { to: bytesToHex(successor) } },
      }),
    async successorOf(waiver: Uint8Array) {
      const entry = await lastEntryOfWaiver(store, waiver, "rotate-waiver");
      const successor = entry?.changes.successor?.to;
      return typeof successor === "string" ? hexToBytes(successor) : undefined;
    },
  };
}

function rangeOf(assigned: readonly Pick<InFlightSubmission, "waiverNonce">[]): LaneFindings["assigned"] {
  const [lowest, highest] = [assigned[0]?.waiverNonce, assigned.at(-1)?.waiverNonce];
  if (lowest === undefined || highest === undefined) return undefined;
  return { lowest, highest, count: assigned.length };
}

function missingBefore(assigned: LaneFindings["assigned"], chainNonce: bigint): LaneFindings["missing"] {
  if (assigned === undefined || assigned.lowest <= chainNonce) return undefined;
  return { lowest: chainNonce, highest: assigned.lowest - 1n };
}
