import { randomUUID } from "node:crypto";
import {
  assembleWrapperTx,
  bytesEqual,
  bytesToHex,
  hashTransaction,
  hexToBytes,
  signingHash,
  signingMessage,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/client/nodeClient.js";
import { connectNode } from "../chain/connectNode.js";
import { createNonceProofs, SEARCH_AFTER_MS } from "../chain/nonceProof.js";
import { StartError } from "../model/errors.js";
import type { Actor, AuditAction } from "../model/keys/auditRecord.js";
import { createLog } from "../model/telemetry/log.js";
import { lastEntryOfWaiver, recordEvent } from "../store/audit/audit.js";
import { lastChain } from "../store/chains.js";
import { inTransaction } from "../store/database/transaction.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findLaneStatuses, type LaneState, type LaneStatus } from "../store/lanes/laneStatus.js";
import { releaseLease, takeLeases } from "../store/lanes/lease.js";
import { rememberTransaction } from "../store/lanes/nonces/withdrawnWrappers.js";
import { findInFlight, type InFlightSubmission } from "../store/lanes/queue/unfinished.js";
import { findReplicas, requestReload } from "../store/lanes/replicas.js";
import { setLaneState } from "../store/lanes/setLaneState.js";
import { openRunningStore, type Store, type StoreLocation } from "../store/store.js";
import { Entries } from "./law/entries.js";
import { type ReconcileContext, reconcile } from "./law/reconcile.js";
import { examine, type Finding } from "./watch/doubts.js";
import { findLostInclusion, type LostInclusion } from "./watch/lost.js";

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

/** One lane by its key in the store. */
type LaneKey = Pick<HeldLane, "chain" | "waiver">;

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

/** Long enough to repair a lane, and no longer than `LONGEST_LEASE_MS`, beyond which a service would take the lane over. */
const LEASE_MS = 4_000;
/** The time for the proofs of outcomes, within the lease. */
const MAX_SEARCH_MS = 1_000;

/** Takes the lease of a lane that nobody owns, and reconciles twice: blocks must prove some outcomes. */
async function repairLane(
  key: LaneKey,
  findings: readonly Finding[],
  { store, chain }: { readonly store: Store; readonly chain: NodeClient },
): Promise<void> {
  const by = { chain: key.chain, owner: randomUUID() };
  const { leases } = await takeLeases(store, by, [key.waiver], LEASE_MS, { watchOnly: true });
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

export interface CancelTerms {
  /** Wei for a unit of gas: more than what the nodes ask for any transaction. */
  readonly gasPrice: bigint;
  /** The nonce that the operator means; the waiver's next if undefined. */
  readonly nonce?: bigint | undefined;
}

export interface CancelledNonce {
  readonly nonce: bigint;
  /** The hash of the waiver's transaction to itself, 32 bytes. */
  readonly hash: Uint8Array;
}

interface CancelContext {
  readonly store: Store;
  readonly chain: Pick<NodeClient, "accounts" | "sendToEach">;
  readonly chainRef: number;
  readonly chainId: number;
  readonly actor: Actor | string;
}

/** The gas of a transfer without calldata. */
const TRANSFER_GAS = 21_000n;

/**
 * Uses the waiver's next nonce for a transaction of the waiver to itself, which pays. Pools that hold a wrapper at price 0 let it
 * take that wrapper's place, so that a jammed lane goes on. It carries no value and no InnerTx. The store remembers it before it
 * is sent: its lane does not take it for somebody else's.
 * @throws {@link StartError} if it cannot be sent.
 */
export async function cancelNonce(
  account: WaiverAccount,
  { gasPrice, nonce }: CancelTerms,
  { store, chain, chainRef, chainId, actor }: CancelContext,
): Promise<CancelledNonce> {
  const waiver = account.address;
  const [{ nonce: next, balance } = { nonce: 0n, balance: 0n }] = await chain.accounts([waiver]);
  if (nonce !== undefined && nonce !== next)
    throw new StartError(`the waiver's next nonce is ${next}, not ${nonce}: only the next one can be held`);
  const cost = TRANSFER_GAS * gasPrice;
  if (balance < cost)
    throw new StartError(
      `the waiver has ${balance} wei, and the transaction costs ${cost}: fund ${bytesToHex(waiver)}`,
    );
  const signed = await signTransferToSelf(account, { nonce: next, gasPrice, chainId });
  const hash = hashTransaction(signed);
  await inTransaction(store, async (db) => {
    await rememberTransaction(
      { pool: db },
      { chain: chainRef, waiver },
      { waiverNonce: next, wrapperHash: hash },
    );
    const changes = { nonce: { to: next.toString() }, hash: { to: bytesToHex(hash) } };
    await recordEvent(db, { actor, action: "cancel-nonce", waiver, changes });
  });
  const answers = await chain.sendToEach({ wrapperRaw: signed.raw, wrapperHash: hash });
  const verdicts = answers.map(({ verdict }) => verdict);
  if (verdicts.some(({ kind }) => kind === "accepted" || kind === "already known"))
    return { nonce: next, hash };
  const [refused] = verdicts;
  const words = refused && "message" in refused ? refused.message : refused?.kind;
  throw new StartError(`no node takes the transaction: ${words ?? "no answer"}`);
}

async function signTransferToSelf(
  account: WaiverAccount,
  {
    nonce,
    gasPrice,
    chainId,
  }: { readonly nonce: bigint; readonly gasPrice: bigint; readonly chainId: number },
) {
  const unsigned = {
    type: "legacy",
    chainId: BigInt(chainId),
    nonce,
    gasPrice,
    gasLimit: TRANSFER_GAS,
    to: account.address,
    value: 0n,
    data: new Uint8Array(),
  } as const;
  const signature = await account.sign(signingHash(unsigned), signingMessage(unsigned));
  return assembleWrapperTx(unsigned, signature, account.address);
}
