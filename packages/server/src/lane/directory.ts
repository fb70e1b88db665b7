import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../model/log.js";
import { findLaneStatuses, type LaneStatus } from "../store/lanes/laneStatus.js";
import type { Store } from "../store/store.js";
import { moveQueuedWork } from "../store/transitions/moveQueuedWork.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";

/** What this replica knows of all lanes, its own and others': refreshed all the time, maybe a moment old. */
export interface LaneDirectory {
  readonly lanes: readonly LaneStatus[];
  /** Takes it work? It is open, somebody works it, its breaker is closed, and its waiver can be used. */
  isUsable(lane: LaneStatus): boolean;
  /**
   * The lane for a sender that has nothing under way: one that works, with the least to do. 20 bytes.
   * @param permitted only these waivers come into question; never none. Undefined: all.
   */
  choose(permitted?: readonly Uint8Array[]): Uint8Array;
  /** Of the lanes of these waivers one that takes work, with the least to do: its waiver. */
  chooseUsable(permitted: readonly Uint8Array[]): Uint8Array | undefined;
  /** The replica that works the lane, if it is known. */
  ownerOf(waiver: Uint8Array): string | undefined;
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export interface LaneDirectoryOptions {
  readonly store: Store;
  readonly chainRef: number;
  readonly log: Logger;
  /** The waivers whose keys this replica has; never none. */
  ownWaivers(): readonly Uint8Array[];
  /** Why a waiver can be used for nothing, by the policies; undefined if it can. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** Work came to lanes that these replicas have. */
  announceWork(owners: readonly string[]): void;
}

const REFRESH_MS = 500;
/** Queued submissions that go to another lane at once. */
const MOVE_BATCH = 1_000;

export function openLaneDirectory(options: LaneDirectoryOptions): LaneDirectory {
  const { store, chainRef, log, ownWaivers, whyUnusable } = options;
  let lanes: readonly LaneStatus[] = [];
  // What was given to a lane since the last look.
  let given = new Map<string, number>();
  const isOwn = (waiver: Uint8Array) => ownWaivers().some((own) => bytesEqual(own, waiver));
  const isUsable = ({ state, owner, broken, waiver }: LaneStatus) =>
    state === "open" && owner !== undefined && !broken && whyUnusable(waiver) === undefined;
  const pause = createWakeableTimer();
  let closed = false;
  let looks = 0;
  let seen = 0;
  const refresh = async () => {
    const look = ++looks;
    const fresh = await findLaneStatuses(store, chainRef);
    // One that began earlier may come later, and knows less.
    if (look < seen) return;
    seen = look;
    lanes = fresh;
    given = new Map();
  };
  const loop = async () => {
    while (!closed) {
      try {
        await refresh();
        await relieve(lanes, isUsable, options);
      } catch (error) {
        log.debug({ err: (error as Error).message }, "the lanes could not be looked at");
      }
      await pause.rest(REFRESH_MS, false);
    }
  };
  const running = loop();
  const load = (lane: LaneStatus) => lane.queued + lane.inFlight + (given.get(bytesToHex(lane.waiver)) ?? 0);
  /** Of these lanes the one with the least to do. */
  const leastOf = (isFit: (lane: LaneStatus) => boolean, permitted: readonly Uint8Array[] | undefined) => {
    const mayCarry = ({ waiver }: LaneStatus) => permitted?.some((one) => bytesEqual(one, waiver)) ?? true;
    return lanes.filter((lane) => isFit(lane) && mayCarry(lane)).sort((a, b) => load(a) - load(b))[0]?.waiver;
  };
  return {
    get lanes() {
      return lanes;
    },
    isUsable,
    choose(permitted) {
      // At the start nobody works the lanes yet, but this replica is about to.
      const isOurs = ({ state, waiver }: LaneStatus) =>
        state === "open" && isOwn(waiver) && whyUnusable(waiver) === undefined;
      const best = leastOf(isUsable, permitted) ?? leastOf(isOurs, permitted);
      const waiver = best ?? permitted?.[0] ?? ownWaivers()[0];
      if (waiver === undefined) throw new Error("there is no lane at all");
      const name = bytesToHex(waiver);
      given.set(name, (given.get(name) ?? 0) + 1);
      return waiver;
    },
    chooseUsable: (permitted) => leastOf(isUsable, permitted),
    ownerOf: (waiver) => lanes.find((lane) => bytesEqual(lane.waiver, waiver))?.owner,
    refresh,
    async close() {
      closed = true;
      pause.end();
      await running;
    },
  };
}

/** Gives what is queued in lanes that do not work to one that does. */
async function relieve(
  lanes: readonly LaneStatus[],
  isUsable: (lane: LaneStatus) => boolean,
  { store, chainRef, log, announceWork }: LaneDirectoryOptions,
): Promise<void> {
  const usable = lanes.filter(isUsable).sort((a, b) => a.queued - b.queued);
  const [target] = usable;
  if (target === undefined) return;
  for (const lane of lanes) {
    if (isUsable(lane) || lane.queued === 0) continue;
    const moved = await moveQueuedWork(store, chainRef, lane.waiver, target.waiver, MOVE_BATCH);
    if (moved === 0) continue;
    log.warn(
      {
        from: bytesToHex(lane.waiver),
        to: bytesToHex(target.waiver),
        moved,
        state: lane.state,
        reason: lane.reason,
      },
      "queued submissions went to another lane",
    );
    if (target.owner) announceWork([target.owner]);
  }
}
