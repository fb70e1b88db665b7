import { bytesEqual, type WaiverAccount } from "@gas-waiver/protocol";
import { registerLane } from "../store/lanes/lease.js";
import { type Caretaker, startCaretaker } from "./caretaker.js";
import type { LaneDependencies } from "./context.js";
import { type Lane, startLane } from "./lane.js";
import type { OwnWaivers } from "./ownWaivers.js";
import { type Spreading, startSpreading } from "./spreadLanes.js";

/** The lanes of the waivers whose accounts this replica has. */
export interface LaneSet {
  /**
   * Starts the lanes of new waivers and stops those of waivers that are gone, whose leases go to another replica that
   * has the account. Calls run one after the other; after `stop` they do nothing.
   */
  setWaivers(accounts: readonly WaiverAccount[]): Promise<void>;
  /** Has the lanes of these waivers look for work at once; all lanes without an argument. */
  wake(waivers?: readonly Uint8Array[]): void;
  /** Has all lanes look at the chain at once. */
  onNewBlock(): void;
  stop(): Promise<void>;
}

export interface LaneSetDependencies extends LaneDependencies {
  /** Is kept up to date with the lanes that run. */
  readonly ownWaivers: OwnWaivers;
}

export function createLaneSet(dependencies: LaneSetDependencies): LaneSet {
  const { store, chainRef, ownWaivers } = dependencies;
  let lanes: Lane[] = [];
  let caretaker: Caretaker | undefined;
  let spreading: Spreading | undefined;
  let stopped = false;
  const setLanes = (changed: Lane[]) => {
    lanes = changed;
    ownWaivers.set(lanes.map(({ waiver }) => waiver));
  };
  const handOver = (waiver: Uint8Array, to: string) =>
    lanes.find((lane) => bytesEqual(lane.waiver, waiver))?.handOver(to);
  const add = async (account: WaiverAccount) => {
    const waiver = account.address;
    if (lanes.some((lane) => bytesEqual(lane.waiver, waiver))) return;
    await registerLane(store, { chain: chainRef, waiver });
    if (!stopped) setLanes([...lanes, startLane(account, dependencies)]);
  };
  const change = async (accounts: readonly WaiverAccount[]) => {
    if (stopped) return;
    for (const account of accounts) await add(account);
    const isOwn = (waiver: Uint8Array) => lanes.some((lane) => bytesEqual(lane.waiver, waiver));
    if (!stopped) {
      caretaker ??= startCaretaker({ ...dependencies, isOwn });
      spreading ??= startSpreading({ ...dependencies, waivers: ownWaivers.current, handOver });
    }
    const isWanted = ({ waiver }: Lane) => accounts.some(({ address }) => bytesEqual(address, waiver));
    const removed = lanes.filter((lane) => !isWanted(lane));
    setLanes(lanes.filter(isWanted));
    await Promise.all(removed.map((lane) => lane.stop()));
  };
  // Two lanes of one waiver in one process would share its lease, so a change waits for the one before.
  let changing: Promise<void> = Promise.resolve();
  return {
    setWaivers(accounts) {
      const changed = changing.then(() => change(accounts));
      changing = changed.catch(() => {});
      return changed;
    },
    wake(waivers) {
      for (const lane of lanes) if (!waivers || waivers.some((w) => bytesEqual(w, lane.waiver))) lane.wake();
    },
    onNewBlock() {
      for (const lane of lanes) lane.onNewBlock();
    },
    async stop() {
      stopped = true;
      await changing;
      // From here on no other replica hands a lane to this one.
      await spreading?.close();
      await Promise.all([...lanes.map((lane) => lane.stop()), caretaker?.close()]);
    },
  };
}
