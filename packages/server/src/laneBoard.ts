import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "./log.js";
import { createPause } from "./pause.js";
import { type LaneStatus, laneStatuses, moveQueued } from "./store/lanes.js";
import type { Store } from "./store/Store.js";

/** What this replica knows of all lanes, its own and others': refreshed all the time, maybe a moment old. */
export interface LaneBoard {
  readonly lanes: readonly LaneStatus[];
  /** The lane for a sender that has nothing under way: one that works, with the least to do. 20 bytes. */
  choose(): Uint8Array;
  /** The replica that works the lane, if it is known. */
  ownerOf(waiver: Uint8Array): string | undefined;
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export interface LaneBoardOptions {
  readonly store: Store;
  readonly chainRef: number;
  readonly log: Logger;
  /** The waivers whose keys this replica has; never none. */
  ownWaivers(): readonly Uint8Array[];
  /** Work came to lanes that these replicas have. */
  tellWork(owners: readonly string[]): void;
}

const REFRESH_MS = 500;
/** Queued submissions that go to another lane at once. */
const MOVE_BATCH = 1_000;

/** Takes work: it is open, somebody works it, and its breaker is closed. */
export const isUsable = (lane: LaneStatus): boolean =>
  lane.state === "open" && lane.owner !== undefined && !lane.broken;

export function openLaneBoard({ store, chainRef, log, ownWaivers, tellWork }: LaneBoardOptions): LaneBoard {
  let lanes: readonly LaneStatus[] = [];
  // What was given to a lane since the last look.
  let given = new Map<string, number>();
  const isOwn = (waiver: Uint8Array) => ownWaivers().some((own) => bytesEqual(own, waiver));
  const pause = createPause();
  let closed = false;
  const refresh = async () => {
    lanes = await laneStatuses(store, chainRef);
    given = new Map();
  };
  const loop = async () => {
    while (!closed) {
      try {
        await refresh();
        await relieve(lanes, { store, chainRef, log, tellWork });
      } catch (error) {
        log.debug({ err: (error as Error).message }, "the lanes could not be looked at");
      }
      await pause.rest(REFRESH_MS, false);
    }
  };
  const running = loop();
  return {
    get lanes() {
      return lanes;
    },
    choose() {
      const load = (lane: LaneStatus) =>
        lane.queued + lane.underWay + (given.get(bytesToHex(lane.waiver)) ?? 0);
      const usable = lanes.filter(isUsable);
      // At the start nobody works the lanes yet, but this replica is about to.
      const own = () => lanes.filter(({ state, waiver }) => state === "open" && isOwn(waiver));
      const best = (usable.length > 0 ? usable : own()).sort((a, b) => load(a) - load(b))[0];
      const waiver = best?.waiver ?? ownWaivers()[0];
      if (waiver === undefined) throw new Error("there is no lane at all");
      const name = bytesToHex(waiver);
      given.set(name, (given.get(name) ?? 0) + 1);
      return waiver;
    },
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
  { store, chainRef, log, tellWork }: Omit<LaneBoardOptions, "ownWaivers">,
): Promise<void> {
  const usable = lanes.filter(isUsable).sort((a, b) => a.queued - b.queued);
  const [target] = usable;
  if (target === undefined) return;
  for (const lane of lanes) {
    if (isUsable(lane) || lane.queued === 0) continue;
    const moved = await moveQueued(store, chainRef, lane.waiver, target.waiver, MOVE_BATCH);
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
    if (target.owner) tellWork([target.owner]);
  }
}
