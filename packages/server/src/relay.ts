import { randomUUID } from "node:crypto";
import { bytesEqual, bytesToHex, privateKeyToAddress } from "@gas-waiver/protocol";
import { followHeads } from "./chain/heads.js";
import type { NodeClient } from "./chain/nodeClient.js";
import { createIntake } from "./intake/intake.js";
import type { KeyDirectory } from "./keys/directory.js";
import { createBroadcastBuffer } from "./lane/broadcastBuffer.js";
import { openLaneDirectory } from "./lane/directory.js";
import { createExpectedSenders } from "./lane/expectedSenders.js";
import { createLaneSet } from "./lane/laneSet.js";
import { createRouting } from "./lane/routing.js";
import { startExpiry } from "./maintenance/expiry.js";
import { startForgettingRequests } from "./maintenance/forgetRequests.js";
import { startForgettingCaps } from "./maintenance/oldCaps.js";
import { startVacuum } from "./maintenance/vacuum.js";
import type { Logger } from "./model/log.js";
import { createMetrics } from "./model/metrics.js";
import type { ResolvedOptions } from "./model/options.js";
import type { Registry } from "./policy/registry.js";
import { createPolicySource } from "./policy/source.js";
import { openReplicaNotifications } from "./results/replicaNotifications.js";
import { createResults } from "./results/results.js";
import { createSigner } from "./signing/signer.js";
import { databaseNow } from "./store/databaseNow.js";
import type { LaneStatus } from "./store/lanes/laneStatus.js";
import { registerLane } from "./store/lanes/lease.js";
import type { Store } from "./store/store.js";

export interface RelayParts {
  readonly options: ResolvedOptions;
  readonly store: Store;
  readonly log: Logger;
  readonly chain: NodeClient;
  /** Undefined: what the waivers may send is configured. */
  readonly registry: Registry | undefined;
  readonly chainRef: number;
  readonly keys: KeyDirectory;
}

/** What takes submissions and carries them: everything between HTTP and the chain. */
export async function startRelay({ options, store, log, chain, registry, chainRef, keys }: RelayParts) {
  const replica = randomUUID();
  const own = addressesOf(options.waiverKeys);
  for (const waiver of own) await registerLane(store, { chain: chainRef, waiver });
  const since = await databaseNow(store);
  const notices = openReplicaNotifications({
    store,
    log,
    replica,
    onResult: (id, notice) => results.notifyHere(id, notice),
    onWork: () => lanes.wake(),
    onKeysChanged: (anew) => void keys.refresh(anew).catch(() => {}),
  });
  const metrics = createMetrics(() =>
    board.lanes.map((lane) => ({ ...lane, waiver: bytesToHex(lane.waiver), usable: board.isUsable(lane) })),
  );
  const results = createResults({
    store,
    log,
    replica,
    notifyReplicas: (news) => notices.notifyResults(news),
  });
  const ownWaivers = () => (lanes.waivers.length > 0 ? lanes.waivers : own);
  const policies = createPolicySource({
    registry,
    options,
    log,
    // Others' lanes carry what is accepted here, too.
    waivers: () => waiversOf(ownWaivers(), board.lanes),
    onChange: () => lanes.wake(),
  });
  const wakeLanes = (waivers: readonly Uint8Array[]) => {
    lanes.wake(waivers);
    notices.announceWork(waivers.flatMap((waiver) => board.ownerOf(waiver) ?? []));
  };
  const expectedSenders = createExpectedSenders();
  const routing = createRouting({ policies, board: () => board, announceWork: wakeLanes });
  const signer = createSigner({ options, log });
  const broadcastBuffer = createBroadcastBuffer({ store, results, log });
  const lanes = createLaneSet({
    store,
    chain,
    results,
    metrics,
    log,
    options,
    routing,
    expectedSenders,
    signer,
    broadcastBuffer,
    chainRef,
    replica,
  });
  const board = openLaneDirectory({
    store,
    chainRef,
    log,
    ownWaivers,
    whyUnusable: policies.whyUnusable,
    announceWork(owners) {
      lanes.wake();
      notices.announceWork(owners);
    },
  });
  const forgetting = startForgettingRequests({ store, keptMs: options.idempotencyMs, log });
  const oldCaps = startForgettingCaps({ store, log });
  const vacuum = startVacuum({ store, log });
  const expiry = startExpiry({ options, store, chain, log, chainRef, results, since });
  const onHead = () => {
    policies.refresh();
    lanes.onNewBlock();
  };
  const heads = options.rpcWsUrl === undefined ? undefined : followHeads(options.rpcWsUrl, log, onHead);
  const intake = createIntake({
    store,
    results,
    metrics,
    options,
    log,
    policies,
    expected: expectedSenders,
    chainRef,
    replica,
    chooseLane: board.choose,
    wakeLanes,
  });
  const isUsable = (waiver: Uint8Array) =>
    board.lanes.some((lane) => bytesEqual(lane.waiver, waiver) && board.isUsable(lane));
  return {
    intake,
    lanes,
    metrics,
    delivered: broadcastBuffer,
    policies,
    /** All whose lanes may take work, and whether they do. */
    waivers: () =>
      waiversOf(ownWaivers(), board.lanes).map((waiver) => ({ waiver, usable: isUsable(waiver) })),
    /** Asks the store. */
    async probeWaivers() {
      await board.refresh();
      return {
        usable: board.lanes.filter(board.isUsable).length,
        unusable: waiversOf([], board.lanes).flatMap((waiver) => policies.whyUnusable(waiver) ?? []),
      };
    },
    async close() {
      heads?.close();
      broadcastBuffer.close();
      oldCaps.close();
      expiry.close();
      forgetting.close();
      await vacuum.close();
      await policies.close();
      await board.close();
      results.close();
      await signer.close();
      await notices.close();
    },
  };
}

function addressesOf(keys: readonly Uint8Array[]): Uint8Array[] {
  return keys.map((key) => privateKeyToAddress(key));
}

/** The waivers whose lanes may take work: this replica's own, and all that are not over. */
function waiversOf(own: readonly Uint8Array[], lanes: readonly LaneStatus[]): Uint8Array[] {
  const others = lanes.filter(({ state }) => state !== "retired").map(({ waiver }) => waiver);
  const names = new Map([...own, ...others].map((waiver) => [bytesToHex(waiver), waiver]));
  return [...names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, waiver]) => waiver);
}
