import type { Hex } from "@gas-waiver/protocol";
import type { LaneState } from "../../../packages/server/src/store/lanes/laneStatus.js";
import { authorizationOf } from "../chain/authorization.js";
import type { Wrapper } from "../chain/wrapper.js";
import type { SimulatedChain } from "../nodes/simulatedChain.js";
import type { WorldClock } from "../worldClock.js";
import { type Behaviour, type Deed, isActive } from "./behaviour.js";
import { concernsWrapper, type Directory } from "./matcher.js";
import { type Running, strikes } from "./running.js";

/** A replica, as far as its machine can fail. */
export interface Machine {
  kill(): void;
  leave(): void;
  /** Starts it again after its end. */
  start(): void;
  freeze(): void;
  thaw(): void;
  stepClock(ms: number): void;
}

export interface Database {
  endSessions(): void;
  setReadOnly(isReadOnly: boolean): void;
  setAway(isAway: boolean): void;
  setFull(isFull: boolean): void;
  leaveStandbyBehind(): void;
  failOver(): void;
  setSlowness(ms: number): void;
  stepClock(ms: number): void;
}

export interface Stage {
  readonly clock: WorldClock;
  readonly chain: SimulatedChain;
  readonly directory: Directory;
  readonly machines: readonly Machine[];
  readonly database: Database;
  readonly waivers: readonly Hex[];
  setLane(waiver: Hex, state: LaneState): void;
  /** The operator gives the last command for each lane again: a failover of the database may have lost it. */
  repeatCommands(): void;
  note(line: string): void;
}

/** The account that sends other users' authorizations (EIP-7702). */
const STRANGER: Hex = `0x${"57".repeat(20)}`;

/** A waiver's key that others use takes a nonce at intervals of up to this, in ms. */
const FOREIGN_USE_MS = 2_500;

/** Lets the behaviours that strike chain, pools, replicas and database happen at their times. */
export function stageEvents(running: readonly Running[], stage: Stage): void {
  for (const one of running) {
    const { from, to, does } = one.behaviour;
    const end = beginnings(one, stage, does);
    if (end === undefined) continue;
    stage.clock.after(from, () => {
      stage.note(`${one.behaviour.name} begins: ${does.deed}`);
      const undo = end();
      if (to === null || undo === undefined) return;
      stage.clock.after(to - from, undo);
    });
  }
}

type Beginning = () => (() => void) | undefined;

/** Returns the start of a behaviour, whose result is its end; undefined for a behaviour that strikes requests. */
function beginnings(running: Running, stage: Stage, does: Deed): Beginning | undefined {
  const { chain, database, machines } = stage;
  const waiverOf = ({ waiver }: { readonly waiver: number }) =>
    stage.waivers[waiver % stage.waivers.length] as Hex;
  const once =
    (run: () => void): Beginning =>
    () => {
      run();
      return undefined;
    };
  const between =
    (begin: () => void, end: () => void): Beginning =>
    () => {
      begin();
      return end;
    };
  switch (does.deed) {
    case "never include":
      chain.exclude(excluding(running, stage));
      return undefined;
    case "evict":
      return once(() => evict(running, stage, does.everyMs));
    case "reorg":
      return once(() => chain.reorg(does.depth, does.keepsPools));
    case "halt":
      return once(() => chain.halt(lengthOf(running.behaviour)));
    case "chain times":
      return between(
        () => chain.shiftTimes(does.seconds * 1_000),
        () => chain.shiftTimes(0),
      );
    case "foreign use":
      return once(() => useForeign(running, stage, waiverOf(does)));
    case "revoke":
      return between(
        () => chain.revoke(waiverOf(does)),
        () => chain.register(waiverOf(does)),
      );
    case "drain lane":
    case "stop lane":
      return between(
        () => stage.setLane(waiverOf(does), does.deed === "drain lane" ? "draining" : "stopped"),
        () => stage.setLane(waiverOf(does), "open"),
      );
    case "kill":
      return between(
        () => machines[does.replica]?.kill(),
        () => machines[does.replica]?.start(),
      );
    case "leave":
      return between(
        () => machines[does.replica]?.leave(),
        () => machines[does.replica]?.start(),
      );
    case "freeze":
      return between(
        () => machines[does.replica]?.freeze(),
        () => machines[does.replica]?.thaw(),
      );
    case "clock step":
      return between(
        () => machines[does.replica]?.stepClock(does.ms),
        () => machines[does.replica]?.stepClock(-does.ms),
      );
    case "end sessions":
      return once(() => database.endSessions());
    case "read-only":
      return between(
        () => database.setReadOnly(true),
        () => database.setReadOnly(false),
      );
    case "database away":
      return between(
        () => database.setAway(true),
        () => database.setAway(false),
      );
    case "full disk":
      return between(
        () => database.setFull(true),
        () => database.setFull(false),
      );
    case "failover":
      return between(
        () => database.leaveStandbyBehind(),
        () => {
          database.failOver();
          stage.repeatCommands();
        },
      );
    case "slow database":
      return between(
        () => database.setSlowness(does.ms),
        () => database.setSlowness(0),
      );
    case "database clock step":
      return between(
        () => database.stepClock(does.ms),
        () => database.stepClock(-does.ms),
      );
    default:
      return undefined;
  }
}

/** Tells which wrappers no block includes. What was left out once is left out for as long as the behaviour lasts. */
function excluding(running: Running, stage: Stage): (wrapper: Wrapper) => boolean {
  const drawn = new Map<Hex, boolean>();
  return (wrapper) => {
    if (!isActive(running.behaviour, stage.clock.now()) || !isSubject(running, wrapper, stage)) return false;
    const isOut = drawn.get(wrapper.hash) ?? strikes(running, stage.clock.now());
    drawn.set(wrapper.hash, isOut);
    return isOut;
  };
}

function lengthOf({ from, to }: Behaviour): number {
  return to === null ? Number.MAX_SAFE_INTEGER : to - from;
}

function isSubject({ behaviour }: Running, wrapper: Wrapper, { directory }: Stage): boolean {
  return concernsWrapper(behaviour.subject, wrapper, directory);
}

/** Pools drop the subject's wrappers, again and again. */
function evict(running: Running, stage: Stage, everyMs: number): void {
  const { chain, clock } = stage;
  if (!isActive(running.behaviour, clock.now())) return;
  const { endpoint } = running.behaviour.subject;
  chain.nodes.forEach((node, i) => {
    if (endpoint !== undefined && endpoint !== i) return;
    for (const wrapper of node.pool.wrappers)
      if (isSubject(running, wrapper, stage) && strikes(running, clock.now())) node.pool.remove(wrapper.hash);
  });
  clock.after(everyMs, () => evict(running, stage, everyMs));
}

/** Other software uses the waiver's key. */
function useForeign(running: Running, stage: Stage, waiver: Hex): void {
  const { chain, clock } = stage;
  if (!isActive(running.behaviour, clock.now())) return;
  chain.sendPaid(waiver);
  clock.after(running.random.between(200, FOREIGN_USE_MS), () => useForeign(running, stage, waiver));
}

/** Users whose nonce of an InnerTx that they have just submitted goes to a paid transaction of theirs, or to an authorization. */
export function useNonces(
  running: readonly Running[],
  stage: Pick<Stage, "clock" | "chain">,
  { user, nonce, sender }: { readonly user: number; readonly nonce: number; readonly sender: Hex },
): void {
  const { clock, chain } = stage;
  for (const one of running) {
    const { does, subject } = one.behaviour;
    if (does.deed !== "pays itself" && does.deed !== "delegates") continue;
    if (subject.sender !== user || !strikes(one, clock.now())) continue;
    clock.after(does.afterMs, () => {
      if (does.deed === "pays itself") chain.sendPaid(sender, { nonce: BigInt(nonce) });
      else chain.sendPaid(STRANGER, { authorization: authorizationOf(user, nonce) });
    });
  }
}
