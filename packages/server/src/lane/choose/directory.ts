import { bytesEqual, bytesToHex, decodeInnerTx } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import type { PolicySet } from "../../policy/policySet.js";
import { findLaneStatuses, type LaneReading, type LaneStatus } from "../../store/lanes/laneStatus.js";
import type { Store } from "../../store/store.js";
import { findQueuedCalls, moveQueuedWork, type QueuedCall } from "../../store/transitions/moveQueuedWork.js";
import type { Schedule } from "../../util/schedule.js";

/** A lane, and the senders for whom it was chosen since it was read. */
type ChosenLane = LaneReading & { chosen: number };

export type LaneStatusCache = ReturnType<typeof createLaneStatusCache>;

/** The lanes of all replicas as the store had them at the last refresh. */
export function createLaneStatusCache(store: Store, chainRef: number) {
  const { laneFloors } = store;
  const listeners: ((lanes: readonly LaneStatus[]) => void)[] = [];
  // A late answer must not undo a later one.
  let last = Promise.resolve();
  /** The refresh that has not begun to read: it serves everybody who asks until then. */
  let next: Promise<void> | undefined;
  let lanes: readonly ChosenLane[] = [];
  let refreshedAt = Number.NEGATIVE_INFINITY;
  const read = async () => {
    next = undefined;
    const startedAt = performance.now();
    const isFull = laneFloors.isFullDue(startedAt);
    const fresh = await findLaneStatuses(store, chainRef, isFull ? [] : laneFloors.all);
    refreshedAt = performance.now();
    lanes = fresh.map((lane) => ({ ...lane, chosen: 0 }));
    laneFloors.replace(lanes, { isFull, startedAt, tookMs: refreshedAt - startedAt });
    for (const listener of listeners) listener(lanes);
  };
  return {
    get lanes() {
      return lanes;
    },
    /** The time of the last refresh that succeeded, by the monotonic clock in ms. */
    get refreshedAt() {
      return refreshedAt;
    },
    /** Reads the store. Where it is slow, those who wait for their turn share one answer. */
    refresh() {
      next ??= last = last.catch(() => {}).then(read);
      return next;
    },
    /** Calls the listener with the lanes after each refresh. */
    onRefresh(listener: (lanes: readonly LaneStatus[]) => void) {
      listeners.push(listener);
    },
  };
}

export type OwnWaivers = ReturnType<typeof createOwnWaivers>;

/**
 * The addresses of the waivers whose accounts this replica has; at least one.
 * @param configured the waivers that count until their lanes have started.
 */
export function createOwnWaivers(configured: readonly Uint8Array[]) {
  let waivers = configured;
  return {
    /** 20 bytes each. */
    current: () => waivers,
    /** Follows the lanes that run. An empty list changes nothing: then none has started yet. */
    set(running: readonly Uint8Array[]) {
      if (running.length > 0) waivers = running;
    },
  };
}

export type LaneDirectory = ReturnType<typeof openLaneDirectory>;

/** The other lanes as one lane sees them. */
export type Routing = Pick<LaneDirectory, keyof ReturnType<typeof carriersOf> | "passOn" | "refresh">;

export interface LaneDirectoryOptions {
  readonly store: Store;
  readonly chainRef: number;
  readonly log: Logger;
  readonly schedule: Schedule;
  readonly statuses: LaneStatusCache;
  readonly ownWaivers: Pick<OwnWaivers, "current">;
  /** Returns why the policies permit a waiver nothing; undefined if they permit something. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** Returns the policies as they are now. */
  policies(): Pick<PolicySet, "waiversDiffer" | "waiversFor">;
  /** Wakes the lanes of these waivers, on whichever replica. */
  announceWork(waivers: readonly Uint8Array[]): void;
}

const REFRESH_MS = 500;
/** The most queued submissions that one statement moves. */
const MOVE_BATCH = 1_000;

/** Chooses among the lanes of all replicas. What it knows is at most about half a second old. */
export function openLaneDirectory(options: LaneDirectoryOptions) {
  const { log, statuses } = options;
  /** Reads the lanes now. From then on, this replica sends no new work to those that are draining. */
  const { refresh } = statuses;
  const laneOf = (waiver: Uint8Array) => statuses.lanes.find((lane) => bytesEqual(lane.waiver, waiver));
  const chooser = chooserOf(laneOf, options);
  const { isUsable, chooseUsable } = chooser;
  const moveWork = async () => {
    for (const lane of statuses.lanes)
      if (!isUsable(lane) && lane.queued > 0) await moveFrom(lane, false, chooseUsable, options);
  };
  const rounds = options.schedule.look(async () => {
    try {
      await refresh();
      await moveWork();
    } catch (error) {
      log.debug({ err: (error as Error).message }, "the lanes could not be refreshed");
    }
    return REFRESH_MS;
  }, 0);
  return {
    get lanes(): readonly LaneStatus[] {
      return statuses.lanes;
    },
    ...chooser,
    ...carriersOf(chooseUsable, () => statuses.lanes, options),
    /**
     * Moves what is queued in this lane, and what only another waiver may carry, to that waiver's lane if it takes work. The sender's
     * nonces stay in order: there, a submission is ahead of its turn until the chain has the nonce before.
     */
    async passOn(waiver: Uint8Array) {
      const lane = laneOf(waiver);
      if (lane) await moveFrom(lane, true, chooseUsable, options);
    },
    /** Returns the name of the replica that owns the lane, if one does. */
    ownerOf: (waiver: Uint8Array) => laneOf(waiver)?.owner,
    refresh,
    close: rounds.end,
  };
}

/** The choice of a lane by what each has to do. */
function chooserOf(
  laneOf: (waiver: Uint8Array) => ChosenLane | undefined,
  { statuses, ownWaivers, whyUnusable }: LaneDirectoryOptions,
) {
  const isOpen = ({ state, waiver }: LaneStatus) => state === "open" && whyUnusable(waiver) === undefined;
  /**
   * Whether the lane takes work: the lane is open and owned by a replica, its breaker is closed, and its waiver can be
   * used.
   */
  const isUsable = (lane: LaneStatus) => isOpen(lane) && lane.owner !== undefined && !lane.broken;
  const load = ({ queued, inFlight, chosen }: ChosenLane) => queued + inFlight + chosen;
  const leastLoaded = (
    isFit: (lane: LaneStatus) => boolean,
    permitted: readonly Uint8Array[] | undefined,
  ) => {
    const mayCarry = ({ waiver }: LaneStatus) => permitted?.some((one) => bytesEqual(one, waiver)) ?? true;
    const fitting = statuses.lanes.filter((lane) => isFit(lane) && mayCarry(lane));
    return fitting.sort((a, b) => load(a) - load(b))[0]?.waiver;
  };
  // Right after the start no replica owns the lanes yet, but this one is about to.
  const willBeUsable = (lane: LaneStatus) =>
    isOpen(lane) && ownWaivers.current().some((own) => bytesEqual(own, lane.waiver));
  /** Chooses the usable lane of these waivers, or of all, with the least to do, and returns its waiver. */
  const chooseUsable = (permitted?: readonly Uint8Array[]) => leastLoaded(isUsable, permitted);
  return {
    isUsable,
    /** Whether a lane that takes no work may do so without an operator: nobody owns it, or its breaker is open. */
    mayBecomeUsable: (lane: LaneStatus) => isOpen(lane) && !isUsable(lane),
    chooseUsable,
    /**
     * Chooses the lane for a sender with nothing in flight: the usable lane with the least to do. Without a usable lane, it
     * is a lane of this replica, else the first permitted lane.
     * @param permitted the waivers that may carry the submission, at least one; all if undefined.
     * @returns its waiver, 20 bytes.
     */
    choose(permitted?: readonly Uint8Array[]) {
      const best = chooseUsable(permitted) ?? leastLoaded(willBeUsable, permitted);
      const waiver = best ?? permitted?.[0] ?? ownWaivers.current()[0];
      if (waiver === undefined) throw new Error("this replica has no waiver");
      const lane = laneOf(waiver);
      if (lane) lane.chosen++;
      return waiver;
    },
  };
}

type ChooseUsable = (permitted?: readonly Uint8Array[]) => Uint8Array | undefined;

/** The lanes that may carry a call, by the policies of their waivers. */
function carriersOf(
  chooseUsable: ChooseUsable,
  lanes: () => readonly LaneStatus[],
  { policies, whyUnusable, announceWork }: LaneDirectoryOptions,
) {
  const permittedFor = (innerRaw: Uint8Array) => {
    const { to, data } = decodeInnerTx(innerRaw);
    return to && policies().waiversFor(to, data);
  };
  const hasOther = (waiver: Uint8Array, permitted?: readonly Uint8Array[]) => {
    const waivers = permitted ?? lanes().map((lane) => lane.waiver);
    return chooseUsable(waivers.filter((one) => !bytesEqual(one, waiver))) !== undefined;
  };
  return {
    whyUnusable,
    announceWork,
    /** Whether two waivers may carry different calls. Only then does `carrierOf` matter. */
    policiesDiffer: () => policies().waiversDiffer,
    /**
     * Finds the lane for an InnerTx that this waiver's lane has queued: `here` if the waiver permits it, and if none does,
     * because then the chain refuses it (D8). Otherwise another that takes work, or `later` if none does now.
     */
    carrierOf(waiver: Uint8Array, innerRaw: Uint8Array) {
      const permitted = permittedFor(innerRaw) ?? [];
      const isHere = permitted.length === 0 || permitted.some((one) => bytesEqual(one, waiver));
      if (isHere) return "here";
      return chooseUsable(permitted) ? "another" : "later";
    },
    /** Whether another lane than this waiver's takes work now and may carry the InnerTx. */
    hasOtherCarrier: (waiver: Uint8Array, innerRaw: Uint8Array) => hasOther(waiver, permittedFor(innerRaw)),
    /** Whether another lane than this waiver's takes work now. */
    hasOtherLane: (waiver: Uint8Array) => hasOther(waiver),
  };
}

/**
 * Moves queued work of a lane to lanes that take work, as far as their waivers may carry it: all of a lane that takes none, and of
 * a lane that works what only another waiver may carry.
 */
async function moveFrom(
  lane: LaneStatus,
  works: boolean,
  chooseUsable: ChooseUsable,
  { store, chainRef, log, policies, whyUnusable, announceWork }: LaneDirectoryOptions,
): Promise<void> {
  const { state, reason, owner, waiver } = lane;
  // A lane whose breaker is open will take work again, and keeps what blocks have left out.
  const isResting = !works && state === "open" && owner !== undefined && whyUnusable(waiver) === undefined;
  const byTarget = new Map<Uint8Array, QueuedCall[]>();
  const { waiversDiffer, waiversFor } = policies();
  const calls = waiversDiffer ? await findQueuedCalls(store, chainRef, waiver) : [undefined];
  for (const call of calls) {
    const permitted = call && waiversFor(call.target, call.selector);
    // The chain refuses what no waiver may carry, whichever lane has it.
    const isForAny = permitted === undefined || permitted.length === 0;
    if (works && (isForAny || permitted.some((one) => bytesEqual(one, waiver)))) continue;
    const to = chooseUsable(isForAny ? undefined : permitted);
    if (to) byTarget.set(to, [...(byTarget.get(to) ?? []), ...(call ? [call] : [])]);
  }
  for (const [to, found] of byTarget) {
    const options = { limit: MOVE_BATCH, withStruck: !isResting, ofBusySenders: works };
    const moved = await moveQueuedWork(store, chainRef, waiver, to, {
      ...options,
      calls: waiversDiffer ? found : undefined,
    });
    if (moved === 0) continue;
    const places = { from: bytesToHex(waiver), to: bytesToHex(to) };
    log[works ? "debug" : "warn"](
      { ...places, moved, state, reason },
      "queued submissions went to another lane",
    );
    announceWork([to]);
  }
}
