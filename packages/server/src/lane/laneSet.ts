import { bytesEqual, bytesToHex, type WaiverAccount } from "@gas-waiver/protocol";
import type { NewSubmission } from "../store/accept/newSubmission.js";
import type { LaneStatus } from "../store/lanes/laneStatus.js";
import { registerLanes } from "../store/lanes/lease.js";
import type { Store } from "../store/store.js";
import type { Look, Schedule } from "../util/schedule.js";
import { WorkQueue } from "../util/workQueue.js";
import type { LaneStatusCache, OwnWaivers } from "./choose/directory.js";
import type { LaneDependencies } from "./context.js";
import { type Lane, startLane } from "./lane.js";
import { createLeaseKeeper } from "./own/lease.js";
import { startSpreading } from "./own/spread.js";
import { startCaretaker } from "./watch/caretaker.js";
import { INTERVALS_PER_FINALITY } from "./watch/watch.js";

export type LaneSet = ReturnType<typeof createLaneSet>;

export interface LaneSetDependencies extends LaneDependencies {
  /** Is kept up to date with the lanes that run. */
  readonly ownWaivers: OwnWaivers;
  /** The store with the connections of the leases. */
  readonly leaseStore: Store;
  readonly statuses: LaneStatusCache;
  readonly schedule: Schedule;
  /** Called when a lane begins to follow blocks. */
  readonly onFollowing: () => void;
}

/** The lanes of the waivers whose accounts this replica has. */
export function createLaneSet(dependencies: LaneSetDependencies) {
  const { store, chainRef, ownWaivers } = dependencies;
  const ofLeases = { store: dependencies.leaseStore, chain: chainRef, owner: dependencies.replica };
  const leases = createLeaseKeeper({ ...dependencies, ...ofLeases });
  let lanes: Lane[] = [];
  let companions: ReturnType<typeof startCompanions> | undefined;
  let stopped = false;
  const setLanes = (changed: Lane[]) => {
    lanes = changed;
    ownWaivers.set(lanes.map(({ waiver }) => waiver));
  };
  const start = (account: WaiverAccount) => startLane(account, { ...dependencies, leases });
  const { laneOf, ...face } = faceOf(() => lanes);
  const change = async (accounts: readonly WaiverAccount[]) => {
    if (stopped) return;
    const added = accounts.filter(({ address }) => laneOf(address) === undefined);
    const waivers = added.map(({ address }) => address);
    if (added.length > 0) await registerLanes(store, chainRef, waivers);
    if (!stopped && added.length > 0) setLanes([...lanes, ...added.map(start)]);
    if (!stopped) companions ??= startCompanions(() => lanes, laneOf, dependencies);
    const isWanted = ({ waiver }: Lane) => accounts.some(({ address }) => bytesEqual(address, waiver));
    const removed = lanes.filter((lane) => !isWanted(lane));
    ownWaivers.set(lanes.filter(isWanted).map(({ waiver }) => waiver));
    await Promise.all(removed.map((lane) => lane.stop()));
    setLanes(lanes.filter(isWanted));
  };
  // Two lanes of one waiver in one process would share its lease, so each change waits for the change before.
  const turns = new WorkQueue({ places: 1 });
  return {
    /**
     * Starts the lanes of new waivers, and stops the lanes of waivers that are gone. Their leases go to another replica with
     * the account. Calls run one after the other; after `stop` they do nothing.
     */
    setWaivers: (accounts: readonly WaiverAccount[]) => turns.run(() => change(accounts)),
    /**
     * Stops all lanes, does something in between, and starts them anew: they remember nothing of the chain as it was. What comes
     * meanwhile waits in the store.
     */
    restart: (between: () => Promise<void>) =>
      turns.run(async () => {
        // Stopping lanes still count as this replica's own, so that no caretaker takes them.
        await Promise.all(lanes.map((lane) => lane.stop()));
        await between().finally(() => setLanes(stopped ? lanes : lanes.map(({ account }) => start(account))));
      }),
    ...face,
    /** Resolves when no renewal of the leases is running. After a pause of the process, they have run out until then. */
    leasesSettled: leases.settled,
    /** Stores all broadcasts that only this process knows: a client that has its line may ask for the record next. Never rejects. */
    flush: async () => void (await Promise.all([...lanes.map((lane) => lane.flush()), companions?.flush()])),
    async stop() {
      stopped = true;
      await turns.run(async () => {});
      // From here on no other replica hands a lane to this one.
      await companions?.leave();
      await Promise.all([...lanes.map((lane) => lane.stop()), companions?.close()]);
      leases.close();
    },
  };
}

/** The lanes that run, to those who have something for one or for all. */
function faceOf(lanesNow: () => readonly Lane[]) {
  const laneOf = (waiver: Uint8Array) => lanesNow().find((lane) => bytesEqual(lane.waiver, waiver));
  return {
    laneOf,
    /** Has the lanes of these waivers look for work at once; all lanes without an argument. */
    wake(waivers?: readonly Uint8Array[]) {
      for (const lane of waivers?.map(laneOf) ?? lanesNow()) lane?.wake();
    },
    /** Offers the new submissions of one request to the lane of their waiver. @returns undefined if they were declined. */
    async offer(newSubmissions: readonly NewSubmission[]) {
      const [first] = newSubmissions;
      return first && (await laneOf(first.waiver)?.offer(newSubmissions));
    },
    /** Has the lanes that have sent something look at the chain at once. */
    onNewBlock: () => void lanesNow().map((lane) => lane.onNewBlock()),
    /** Whether a lane has something in flight, or in a block that is not final. */
    isFollowing: () => lanesNow().some((lane) => lane.isFollowing),
  };
}

/** Starts the parts that the lanes of this replica share: for lanes that nobody signs for, for their spread over the replicas, and for their status. */
function startCompanions(
  lanesNow: () => readonly Lane[],
  laneOf: (waiver: Uint8Array) => Lane | undefined,
  dependencies: LaneSetDependencies,
) {
  const { leaseStore, ownWaivers, statuses } = dependencies;
  statuses.onRefresh((all) => tellStatuses(lanesNow(), all));
  const caretaker = startCaretaker({ ...dependencies, isOwn: (waiver) => laneOf(waiver) !== undefined });
  const spreading = startSpreading({
    ...{ ...dependencies, store: leaseStore, waivers: ownWaivers.current },
    handOver: (waiver, to) => laneOf(waiver)?.handOver(to),
  });
  const nonces = followNonces(lanesNow, dependencies);
  return {
    flush: caretaker.flush,
    leave: () => Promise.all([spreading.close(), nonces.end()]),
    close: caretaker.close,
  };
}

function tellStatuses(lanes: readonly Lane[], all: readonly LaneStatus[]): void {
  const byWaiver = new Map(all.map((status) => [bytesToHex(status.waiver), status]));
  for (const lane of lanes) {
    const status = byWaiver.get(bytesToHex(lane.waiver));
    if (status) lane.onStatus(status);
  }
}

/** Tells the lanes of this replica their waivers' next nonces now and then: one request for all, however many are idle. */
function followNonces(
  lanesNow: () => readonly Lane[],
  { chain, schedule, options }: Pick<LaneSetDependencies, "chain" | "schedule" | "options">,
): Look {
  const everyMs = INTERVALS_PER_FINALITY * options.pollIntervalMs;
  return schedule.look(async () => {
    const lanes = lanesNow().filter((lane) => lane.lease() !== undefined);
    // Whoever needs a node tells when none answers.
    const read = lanes.length === 0 ? [] : chain.nonces(lanes.map(({ waiver }) => waiver)).catch(() => []);
    for (const [i, next] of (await read).entries()) if (next !== undefined) lanes[i]?.onNextNonce(next);
    return everyMs;
  }, everyMs);
}
