import { randomUUID } from "node:crypto";
import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { Registry as MetricsRegistry } from "prom-client";
import type { NodeClient } from "./chain/client/nodeClient.js";
import { type BlockWatch, createBlockWatch } from "./chain/heads/blockWatch.js";
import { rewindToChain } from "./chain/rewind.js";
import type { EndpointHeads } from "./chain/rpc/endpointHeads.js";
import type { Rpc } from "./chain/rpc/rpc.js";
import type { WaiverHealth } from "./health/readiness.js";
import { Intake } from "./intake/intake.js";
import type { KeyDirectory } from "./keys/directory.js";
import {
  createLaneStatusCache,
  createOwnWaivers,
  type LaneDirectory,
  type LaneStatusCache,
  openLaneDirectory,
} from "./lane/choose/directory.js";
import { logFailure } from "./lane/context.js";
import { createLaneSet, type LaneSet } from "./lane/laneSet.js";
import { createStrikes } from "./lane/law/strikes.js";
import { startMaintenance } from "./maintenance/maintenance.js";
import { addRetentionGauge } from "./maintenance/outcomeDays.js";
import type { UnfinishedWork } from "./maintenance/unfinishedWork.js";
import type { ResolvedOptions } from "./model/options/options.js";
import type { Patience } from "./model/patience.js";
import type { Logger } from "./model/telemetry/log.js";
import { createMetrics, type Metrics } from "./model/telemetry/metrics.js";
import type { Registry } from "./policy/registry.js";
import { createPolicySource, type PolicySource } from "./policy/source.js";
import { Refusals } from "./results/refusals.js";
import { openReplicaNotifications } from "./results/replicaNotifications.js";
import { createResults } from "./results/results.js";
import { createRevertCauses } from "./results/revertCauses.js";
import { createSubmissionsByHash } from "./results/submissionsByHash.js";
import { createSigner } from "./signing/signer.js";
import { databaseNow } from "./store/database/statements.js";
import type { LaneStatus } from "./store/lanes/laneStatus.js";
import { registerLanes } from "./store/lanes/lease.js";
import { REWOUND } from "./store/rewind.js";
import type { OpenStore } from "./store/store.js";
import { addStoreGauges } from "./store/storeGauges.js";
import type { LoopQueue } from "./util/loopQueue.js";
import { createSchedule, type Schedule } from "./util/schedule.js";

export interface RelayParts {
  readonly options: ResolvedOptions;
  readonly store: OpenStore;
  readonly log: Logger;
  readonly chain: NodeClient;
  /** The nodes, over connections that are for the causes of reverts alone. */
  readonly replayRpc: Rpc;
  /** The heads of the nodes, which are polled whether there is work or not. */
  readonly heads: EndpointHeads;
  /** Undefined if the configuration alone sets the policies. */
  readonly registry: Registry | undefined;
  readonly chainRef: number;
  readonly keys: KeyDirectory;
  readonly metricsRegistry: MetricsRegistry;
  /** Called when an operator asks the replicas to read their waivers' keys again. */
  readonly onReloadRequested: () => void;
  readonly patience: Patience;
  /** The queue for the event loop of the process. */
  readonly loop: LoopQueue;
  /** Aborts the calls that leave this process. */
  readonly signal: AbortSignal;
}

/** The parts that every stage of the relay needs. */
interface RelayBase extends RelayParts {
  /** The timer of the lanes. */
  readonly schedule: Schedule;
  /** The name of this process among the replicas. */
  readonly replica: string;
  /** The start of this process by the database's clock. */
  readonly since: Date;
}

export type Relay = Awaited<ReturnType<typeof startRelay>>;

/**
 * Builds everything between HTTP and the chain, in this order: messaging (results and notifications between replicas),
 * coordination (policies and the directory of all lanes), the lanes of this replica, and the intake. Each stage knows
 * only those before it. A stage that finds work wakes the lanes, which come after it, by `work`.
 */
export async function startRelay(parts: RelayParts) {
  const { options, store, chainRef } = parts;
  const own = options.waivers.map(({ address }) => address);
  await registerLanes(store, chainRef, own);
  const since = await databaseNow(store);
  const schedule = createSchedule((error) => logFailure(parts.log, error, "schedule"));
  const base: RelayBase = { ...parts, schedule, replica: randomUUID(), since };
  const messaging = createMessaging(base);
  const coordination = openCoordination(base, messaging);
  const blocks = createBlockWatch({ ...parts, ...options });
  const laneParts = createLanes(base, messaging, coordination, blocks);
  const { results, notifications, refusals, byHash } = messaging;
  const { metrics, policies, waivers, waiverHealth, directory, statuses, work } = coordination;
  const { lanes, signer, revertCauses } = laneParts;
  const intake = createRelayIntake(base, messaging, coordination, laneParts);
  const unfinished = () => unfinishedWork(statuses.lanes);
  const maintenance = startMaintenance({ ...base, results, unfinished });
  addRetentionGauge(metrics.registry, maintenance.oldestDay);
  blocks.start({
    isAwaited: lanes.isFollowing,
    onNewBlock(height) {
      policies.refresh(height);
      lanes.onNewBlock();
    },
  });
  notifications.listen({
    onResult: results.notifyHere,
    onWork: (waivers) => work.wake(waivers),
    onKeysChanged: (afterGap) => void base.keys.refresh(afterGap).catch(() => {}),
    onReloadRequested: base.onReloadRequested,
  });
  return {
    ...{ intake, lanes, revertCauses, refusals, byHash, metrics, policies, waivers, blocks, waiverHealth },
    async refreshLanes() {
      await lanes.leasesSettled();
      await directory.refresh();
    },
    rewind: createRewind(base, messaging, coordination, laneParts, blocks),
    lanesReadAt: () => statuses.refreshedAt,
    async close() {
      await blocks.close();
      revertCauses.close();
      await maintenance.close();
      await policies.close();
      await directory.close();
      results.close();
      await refusals.close();
      await signer.close();
      await notifications.close();
    },
  };
}

type Messaging = ReturnType<typeof createMessaging>;

/** Carries results to the waiting result lines, on this replica and on others, and keeps the lines that were refused. */
function createMessaging({ store, log, replica, chainRef }: RelayBase) {
  const notifications = openReplicaNotifications({ store: store.forRole("lanes"), log, replica });
  const results = createResults({
    store: store.forRole("reading"),
    log,
    replica,
    notifyReplicas: notifications.notifyResults,
  });
  const refusals = new Refusals({ store, reading: store.forRole("reading"), log });
  const byHash = createSubmissionsByHash(store.forRole("reading"), chainRef);
  return { notifications, results, refusals, byHash };
}

type Coordination = ReturnType<typeof openCoordination>;

/** The knowledge of all lanes: what their waivers may send, who owns them, and which take work. */
function openCoordination(
  { options, store, log, registry, chainRef, signal, metricsRegistry, schedule }: RelayBase,
  { notifications }: Messaging,
) {
  /** Wakes the lanes of this replica once there are some. */
  const work: Pick<LaneSet, "wake"> = { wake: () => {} };
  const ownWaivers = createOwnWaivers(options.waivers.map(({ address }) => address));
  const ofLanes = store.forRole("lanes");
  const statuses = createLaneStatusCache(ofLanes, chainRef);
  const policies = createPolicySource({
    registry,
    options,
    log,
    signal,
    // Another replica's lanes also carry what is accepted here.
    waivers: () => activeWaivers(ownWaivers.current(), statuses.lanes),
    isOpen: (waiver) => isOpenInStore(statuses, waiver),
    onChange: () => work.wake(),
  });
  let known = "";
  statuses.onRefresh((lanes) => {
    const waivers = activeWaivers(ownWaivers.current(), lanes).map(bytesToHex).join();
    if (waivers !== known) policies.refresh();
    known = waivers;
  });
  const directory = openLaneDirectory({
    store: ofLanes,
    chainRef,
    log,
    schedule,
    statuses,
    ownWaivers,
    whyUnusable: policies.whyUnusable,
    policies: policies.current,
    announceWork: (waivers) => announceWork(waivers),
  });
  const announceWork = (waivers: readonly Uint8Array[]) => {
    work.wake(waivers);
    const lanes = waivers.map((waiver) => ({ waiver, owner: directory.ownerOf(waiver) }));
    notifications.announceWork(lanes.flatMap(({ waiver, owner }) => (owner ? [{ waiver, owner }] : [])));
  };
  return {
    work,
    ownWaivers,
    policies,
    statuses,
    directory,
    /** Wakes the lanes of these waivers, on whichever replica. */
    announceWork,
    metrics: createRelayMetrics(directory, store, metricsRegistry),
    /** Returns all waivers whose lanes may take work, and whether they do. */
    waivers() {
      const isUsable = (waiver: Uint8Array) =>
        directory.lanes.some((lane) => bytesEqual(lane.waiver, waiver) && directory.isUsable(lane));
      const all = activeWaivers(ownWaivers.current(), directory.lanes);
      return all.map((waiver) => ({ waiver, usable: isUsable(waiver) }));
    },
    waiverHealth: () => waiverHealth(directory, policies),
  };
}

function createRelayMetrics(
  directory: LaneDirectory,
  store: OpenStore,
  metricsRegistry: MetricsRegistry,
): Metrics {
  const metrics = createMetrics(metricsRegistry, () =>
    directory.lanes.map((lane) => ({
      ...lane,
      waiver: bytesToHex(lane.waiver),
      usable: directory.isUsable(lane),
      open: lane.state === "open",
      stopped: lane.state === "stopped",
    })),
  );
  addStoreGauges(metrics.registry, store);
  return metrics;
}

/** Tells which lanes take work, as they were last read, and the reasons of those that do not. */
function waiverHealth(directory: LaneDirectory, policies: PolicySource): WaiverHealth {
  const current = policies.isKnown ? policies.current() : undefined;
  const permitsNothing = ({ waiver }: LaneStatus) => current?.targetsOf(waiver).length === 0;
  const usable = directory.lanes.filter(directory.isUsable);
  const recovering = directory.lanes.filter(directory.mayBecomeUsable);
  const why = activeWaivers([], directory.lanes).flatMap((waiver) => policies.whyUnusable(waiver) ?? []);
  const idle = usable.filter(permitsNothing);
  return {
    usable: current ? usable.length - idle.length : 0,
    recovering: [...recovering, ...(current ? [] : usable)].filter((lane) => !permitsNothing(lane)).length,
    unusable: [
      ...(current ? [] : ["what may be sent is not known yet"]),
      ...why,
      // D4: where nothing at all may be sent, readiness says so.
      ...idle.map(({ waiver }) => `the policy of ${bytesToHex(waiver)} permits nothing`),
      ...directory.lanes.flatMap(whyWaiting),
    ],
  };
}

function whyWaiting({ state, waiver, reason, broken, wait }: LaneStatus): string[] {
  const lane = `the lane of ${bytesToHex(waiver)}`;
  if (state === "stopped") return [`${lane} is stopped: ${reason ?? "by an operator"}`];
  if (wait) return [`${lane} waits for ${Math.round(wait.ms / 1_000)} s: ${wait.sentence}`];
  return broken ? [`${lane} takes no work for now: ${reason ?? "it has failed"}`] : [];
}

type LaneParts = ReturnType<typeof createLanes>;

/** The lanes of this replica, none of which has started yet, and what they share. */
function createLanes(
  base: RelayBase,
  { results }: Messaging,
  coordination: Coordination,
  { hurry: onFollowing, polled: head }: BlockWatch,
) {
  const { options, log, signal } = base;
  const store = base.store.forRole("lanes");
  const { work, ownWaivers, directory, metrics, statuses } = coordination;
  const signer = createSigner({ options, log, signal, metrics });
  const revertCauses = createRevertCauses({ ...base, rpc: base.replayRpc });
  const shared = {
    ...{ results, metrics, routing: directory },
    ...{ signer, revertCauses, head, strikes: createStrikes() },
  };
  const leaseStore = base.store.forRole("leases");
  const lanes = createLaneSet({ ...base, ...shared, store, leaseStore, ownWaivers, statuses, onFollowing });
  work.wake = lanes.wake;
  return { lanes, signer, revertCauses };
}

function createRelayIntake(
  base: RelayBase,
  { results, refusals, byHash }: Messaging,
  { metrics, policies, directory, announceWork }: Coordination,
  { lanes }: LaneParts,
) {
  return new Intake({
    ...base,
    store: base.store.forRole("accepting"),
    reading: base.store.forRole("reading"),
    assertStoreWritable: () => base.store.monitor.assertWritable(),
    results,
    refusals,
    byHash,
    metrics,
    policies,
    offer: lanes.offer,
    chooseLane: directory.choose,
    wakeLanes: announceWork,
  });
}

/** Has the service follow a chain that a developer takes back. See {@link Server.rewind}. */
function createRewind(
  { store, chain, chainRef, log }: RelayBase,
  { results }: Messaging,
  { policies, directory }: Coordination,
  { lanes }: LaneParts,
  blocks: BlockWatch,
) {
  return async (goBack: () => Promise<boolean>): Promise<boolean> => {
    let wentBack = false;
    await lanes.restart(async () => {
      wentBack = await goBack();
      if (!wentBack) return;
      const ended = await rewindToChain({ store, chain, chainRef, onlyIfLost: false });
      results.publish(ended, () => ({ state: "failed", ...REWOUND }));
      blocks.announceRewind();
      await policies.reread();
      log.info({ ended: ended.length }, "the chain was taken back, and the store with it");
    });
    await directory.refresh();
    return wentBack;
  };
}

/** Returns how many submissions are unfinished, and the age of the oldest queued one in ms, by the last poll of the store. */
function unfinishedWork(lanes: readonly LaneStatus[]): UnfinishedWork {
  return {
    count: lanes.reduce((sum, { queued, inFlight }) => sum + queued + inFlight, 0),
    oldestQueuedMs: Math.max(0, ...lanes.map(({ oldestMs }) => oldestMs)),
  };
}

/** Whether the waiver's lane is to take work: also where the store does not say otherwise, or not at all. */
async function isOpenInStore(statuses: LaneStatusCache, waiver: Uint8Array): Promise<boolean> {
  await statuses.refresh().catch(() => {});
  const lane = statuses.lanes.find((one) => bytesEqual(one.waiver, waiver));
  return lane === undefined || lane.state === "open";
}

/** Returns the waivers whose lanes may take work, by address: this replica's own, and all whose lane is not retired. */
function activeWaivers(own: readonly Uint8Array[], lanes: readonly LaneStatus[]): Uint8Array[] {
  const known = lanes.filter(({ state }) => state !== "retired").map(({ waiver }) => waiver);
  const byAddress = new Map([...own, ...known].map((waiver) => [bytesToHex(waiver), waiver]));
  return [...byAddress].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, waiver]) => waiver);
}
