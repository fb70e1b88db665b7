import type { Hex } from "@gas-waiver/protocol";
import type { ServerOptions } from "../../packages/server/src/index.js";
import type { LaneState } from "../../packages/server/src/store/lanes/laneStatus.js";
import type { Behaviour } from "./behaviours/behaviour.js";
import type { DatabaseFaults } from "./engine/databaseFaults.js";
import type { Random } from "./engine/random.js";
import type { StoredState } from "./laws/record.js";
import type { SimulatedNetwork } from "./net.js";
import type { PoolKind } from "./nodes/pool.js";
import type { Replica } from "./replica.js";

/** The chain of a world. */
export interface ChainPlan {
  readonly pool: PoolKind;
  readonly blockMs: number;
  /** The kind of each endpoint's node, by its name in `test/nodeZoo`. */
  readonly personalities: readonly string[];
}

/** A world, as data: the same plan gives the same world. */
export interface WorldPlan {
  readonly seed: number;
  readonly replicas: number;
  /** Waiver keys, each with a lane. */
  readonly keys: number;
  /** Nodes, each behind one host name. */
  readonly endpoints: number;
  readonly senders: number;
  /** Submissions of each sender. */
  readonly submissions: number;
  /** The time over which the users spread their submissions, in virtual ms. */
  readonly busyMs: number;
  /** The longest time that it runs after the start of its replicas, in virtual ms. */
  readonly lengthMs: number;
  /** Settings of the service that are not its defaults. */
  readonly settings?: Partial<ServerOptions>;
  readonly chain: ChainPlan;
  readonly behaviours: readonly Behaviour[];
}

/** Whether the chain loses final blocks, as if it were restored from a backup. */
export function isRestored({ behaviours, settings }: Pick<WorldPlan, "behaviours" | "settings">): boolean {
  return behaviours.some(({ does }) => does.deed === "reorg" && does.depth > (settings?.reorgDepth ?? 0));
}

/** A running world, as its parts see it. */
export interface World {
  readonly plan: WorldPlan;
  readonly network: SimulatedNetwork;
  readonly replicas: readonly Replica[];
  readonly database: DatabaseFaults;
  /** Virtual ms since the replicas have started; negative before. */
  now(): number;
  /** The time that `Date.now()` gives where no clock has stepped. */
  date(): number;
  /** Opens the stream of a purpose. */
  random(purpose: string): Random;
  /** Runs code at a moment: ms after the start of the replicas. A moment that is over means now. */
  at(ms: number, run: () => void): void;
  /** Runs code after this time, also before the start of the replicas. */
  after(ms: number, run: () => void): void;
  /** Reads what the service has stored by now. */
  readStore(): Promise<StoredState>;
  /** Sets the state of a lane, as an operator does. */
  setLane(waiver: Hex, state: LaneState): void;
  /** Runs code again and again, first after `ms`. */
  every(ms: number, run: () => void): void;
  /** Adds a line to the record of the world, which each repetition must equal. */
  note(line: string): void;
}

/** The parts of a world besides the engine: chain, nodes, users, behaviours, laws. */
export interface Scenario {
  /** The replicas run: users and behaviours begin. */
  begin(): void;
  /** Whether nothing can change any more, so that the world may end before its time. Asked each half second. */
  isOver(): boolean;
  /** Called once, at the end. */
  judge(): Judgement | Promise<Judgement>;
}

export interface Judgement {
  readonly violations: readonly Violation[];
  /** Figures for the summary. */
  readonly counts: Readonly<Record<string, number>>;
}

/** A law that was broken. */
export interface Violation {
  readonly law: string;
  /** A sentence with the facts. */
  readonly text: string;
}

/** Sets up a scenario, before the replicas start: it puts its endpoints into the network, and lets blocks come. */
export type ScenarioSetUp = (world: World) => Scenario;
