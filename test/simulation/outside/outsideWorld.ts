import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { LaneState } from "../../../packages/server/src/store/lanes/laneStatus.js";
import { CHAIN_ID } from "../../../packages/server/test/support/modelChain.js";
import { accountsOf } from "../../../packages/server/test/support/user.js";
import { PERSONALITIES } from "../../nodeZoo/personalities.js";
import { Endpoint } from "../behaviours/endpoint.js";
import { stageEvents, useNonces } from "../behaviours/events.js";
import { type Running, startBehaviours } from "../behaviours/running.js";
import { iterateHere } from "../engine/owner.js";
import { ChainLoss } from "../laws/chainLoss.js";
import { EvidenceLedger } from "../laws/evidenceLedger.js";
import { blockersIn, isWithoutRemedy } from "../laws/headOfLine.js";
import { Honesty } from "../laws/honesty.js";
import { Liveness } from "../laws/liveness.js";
import type { StoredState } from "../laws/record.js";
import { Safety } from "../laws/safety.js";
import { Violations } from "../laws/violations.js";
import { SimulatedChain } from "../nodes/simulatedChain.js";
import type { Replica } from "../replica.js";
import type { UserSubmission } from "../users/submission.js";
import { type Service, Users } from "../users/users.js";
import { waiverKeys } from "../waiverKeys.js";
import { isRestored, type Scenario, type World, type WorldPlan } from "../world.js";
import type { WorldClock } from "../worldClock.js";
import { createDirectory } from "./directory.js";
import { replyOf } from "./replyOf.js";

const TICK_MS = 1_000;
/** The store is read this often, in ms. */
const STORE_MS = 5_000;
/** An operator looks this often for lanes that have stopped, in ms. */
const OPERATOR_MS = 2_000;
/** After the last change that a behaviour makes, in ms. */
const CALM_MS = 3_000;
/** For this long after all else is done, the world goes on with what a behaviour names, or with what broke a law, in ms. */
const AFTERMATH_MS = 3_000;

/** Sets up everything outside of the service: the chain with its nodes, behaviours, users, and the laws that judge the service. */
export function setUpOutside(world: World): Scenario {
  const { plan } = world;
  const clock: WorldClock = { now: world.now, wallMs: world.date, after: world.after };
  const directory = createDirectory(plan.senders);
  const ledger = new EvidenceLedger(clock, directory.read);
  const running = startBehaviours(plan.seed, plan.behaviours);
  const chain = createChain(plan, clock);
  chain.nodes.forEach((node, place) => {
    const anotherNode = chain.nodes[(place + 1) % chain.nodes.length] ?? node;
    const endpoint = new Endpoint({
      place,
      node,
      anotherNode,
      clock,
      directory,
      ledger,
      behaviours: running,
    });
    world.network.endpoints.set(`node${place}`, {
      answer: ({ body, isReusedConnection }) => replyOf(endpoint.request(body, isReusedConnection)),
    });
  });
  const violations = new Violations(clock);
  const judged = createLaws(world, { clock, chain, ledger, violations });
  const users = createUsers(world, clock, running, chain, judged);
  return {
    begin: () => beginAll(world, { clock, chain, directory, running, users, judged }),
    isOver: () => judged.isOver(users),
    async judge() {
      await judged.readStore(users.submissions, true);
      const executed = users.submissions.filter(
        ({ innerHash }) => chain.blockOf(innerHash) !== undefined,
      ).length;
      const counts = { executed, submissions: users.submissions.length, height: chain.head.number };
      return { violations: violations.list, counts };
    },
  };
}

function createChain(
  { seed, keys, chain: { pool, blockMs, personalities } }: WorldPlan,
  clock: WorldClock,
): SimulatedChain {
  const nodes = personalities.map((name) => {
    const personality = PERSONALITIES.find((one) => one.name === name);
    if (personality === undefined) throw new Error(`no personality ${name}`);
    return { pool, personality };
  });
  return new SimulatedChain({ seed, clock, chainId: CHAIN_ID, blockMs, nodes, waivers: waiversOf(keys) });
}

function waiversOf(keys: number): Hex[] {
  return accountsOf(...waiverKeys(keys)).map(({ address }) => bytesToHex(address));
}

interface Parts {
  readonly clock: WorldClock;
  readonly chain: SimulatedChain;
  readonly ledger: EvidenceLedger;
  readonly violations: Violations;
}

type Laws = ReturnType<typeof createLaws>;

function createLaws(world: World, { clock, chain, ledger, violations }: Parts) {
  const { plan } = world;
  const { behaviours, keys, endpoints, replicas } = plan;
  const {
    maxInFlight = 1_000,
    maxQueueMs = 600_000,
    reorgDepth = 0,
    nonceGapTimeoutMs: nonceGapMs = 10_000,
  } = plan.settings ?? {};
  const loss = new ChainLoss(reorgDepth);
  chain.onRemoved((removed) => loss.onRemoved(removed));
  const honesty = new Honesty(behaviours, { endpoints, replicas, keys, reorgDepth });
  const isHonest = ({ user, sender }: UserSubmission) => honesty.isHonest(user) && !loss.hasSender(sender);
  const liveness = new Liveness({
    ...{ clock, chain, ledger, honesty, violations, blockMs: plan.chain.blockMs },
    blockers: blockersIn(behaviours),
    rounds: Math.ceil((plan.senders * plan.submissions) / (keys * maxInFlight)),
    isWithoutRemedy: isWithoutRemedy(behaviours, { keys, pool: plan.chain.pool }),
  });
  let submissions: readonly UserSubmission[] = [];
  const safety = new Safety({
    ...{
      chain,
      ledger,
      loss,
      violations,
      maxQueueMs,
      nonceGapMs,
      mayStop: mayStop(plan),
      lossUntil: honesty.lossUntil,
    },
    submissions: () => submissions,
  });
  chain.onTaken((wrapper) => ledger.onTaken(wrapper));
  chain.onBlock((block) => liveness.onBlock(block));
  const isDone = ({ innerHash, lines }: UserSubmission) =>
    lines.length > 0 && chain.blockOf(innerHash) !== undefined;
  const isTroubled = (one: UserSubmission) =>
    !isHonest(one) ||
    safety.isExcused(one) ||
    (one.acceptedAt !== undefined && one.acceptedAt <= honesty.lossUntil);
  let settledAt: number | undefined;
  return {
    onLine(submission: UserSubmission) {
      safety.onLine(submission);
      if (submission.lines.at(-1)?.success === true) liveness.onSuccess(submission);
    },
    async onTick(all: readonly UserSubmission[]) {
      submissions = all;
      const owed = all.filter((one) => isHonest(one) && !safety.isExcused(one));
      liveness.onTick(owed);
      const mayWait = liveness.mayWait();
      if (mayWait.length === 0) return;
      const waiting = waitingIn(await world.readStore(), owed, chain);
      for (const waiver of mayWait) liveness.onWaiting(waiver, waiting.has(waiver));
      const still = liveness.stillWaivers();
      if (still.length > 0 && (await namesNoTrouble(world.replicas))) liveness.onUnnamed(still);
    },
    async readStore(all: readonly UserSubmission[], isAtEnd: boolean) {
      submissions = all;
      safety.onStored(await world.readStore(), clock.now(), isAtEnd);
    },
    /** Nothing that the laws ask for is open any more, and no behaviour comes or goes. */
    isOver(users: Users) {
      const isLost = honesty.isLost(clock.now());
      const isSettled =
        users.areDone && users.submissions.every((one) => isLost || isDone(one) || isTroubled(one));
      const isCalm = behaviours.every(({ from, to }) => clock.now() > (to ?? from) + CALM_MS);
      if (!isSettled || !isCalm || liveness.isBeingTested()) settledAt = undefined;
      else settledAt ??= clock.now();
      const begun = Math.min(
        settledAt ?? Number.POSITIVE_INFINITY,
        violations.list[0]?.at ?? Number.POSITIVE_INFINITY,
      );
      return clock.now() - begun >= (users.submissions.every(isDone) ? 0 : AFTERMATH_MS);
    },
  };
}

/** The waivers whose lanes have wrappers in flight, or submissions in their queues for which the service owes a block. */
function waitingIn(
  { submissions }: StoredState,
  owed: readonly UserSubmission[],
  chain: SimulatedChain,
): ReadonlySet<Hex> {
  const hashes = new Set(owed.map(({ innerHash }) => innerHash));
  const waits = ({ state, innerHash }: StoredState["submissions"][number]) =>
    chain.blockOf(innerHash) === undefined &&
    (["signed", "broadcast"].includes(state) || (state === "queued" && hashes.has(innerHash)));
  return new Set(submissions.filter(waits).map(({ waiver }) => waiver));
}

/** Opens the lanes that have stopped, as an operator does who knows that the chain was restored, and that the node is right. */
async function openStopped(world: World): Promise<void> {
  const { lanes } = await world.readStore();
  for (const { waiver, state } of lanes) if (state === "stopped") world.setLane(waiver, "open");
}

/** Whether the readiness of no replica says that anything is wrong with the waivers. */
async function namesNoTrouble(replicas: readonly Replica[]): Promise<boolean> {
  for (const replica of replicas) {
    const { network } = replica;
    if (network === undefined || replica.isFrozen) continue;
    const { ready, parts } = await replica.run(() => network.parts.readiness.probe());
    if (!ready || parts.waivers?.message !== undefined) return false;
  }
  return true;
}

/** A lane stops with right where its chain has lost final blocks, where others use its key, and by an operator. */
function mayStop(plan: WorldPlan): boolean {
  const stops = ["foreign use", "stop lane"];
  return isRestored(plan) || plan.behaviours.some(({ does }) => stops.includes(does.deed));
}

function createUsers(
  world: World,
  clock: WorldClock,
  running: readonly Running[],
  chain: SimulatedChain,
  laws: Laws,
): Users {
  const { seed, senders, submissions, busyMs } = world.plan;
  return new Users({
    ...{ seed, clock, users: senders, submissions, spreadMs: busyMs, note: world.note },
    services: world.replicas.map(serviceOf),
    onSubmitted: (submission) => useNonces(running, { clock, chain }, submission),
    onLine: laws.onLine,
  });
}

function serviceOf(replica: Replica): Service {
  return {
    name: replica.name,
    isServing: () => replica.isRunning && !replica.isFrozen,
    life: () => replica.life,
    submit(user, raw, wait) {
      const { network, caller } = replica;
      if (network === undefined) return Promise.reject(new Error("the replica does not run"));
      const keyed = { ...caller, keyId: `key ${user % 3}` };
      return replica.run(async () =>
        iterateHere(await network.parts.relay.intake.submit(keyed, [raw], wait)),
      );
    },
  };
}

interface Begun extends Pick<Parts, "clock" | "chain"> {
  readonly directory: ReturnType<typeof createDirectory>;
  readonly running: readonly Running[];
  readonly users: Users;
  readonly judged: Laws;
}

function beginAll(world: World, { clock, chain, directory, running, users, judged }: Begun): void {
  const waivers = waiversOf(world.plan.keys);
  const { database, note } = world;
  const machines = world.replicas.map((replica) => ({
    kill: () => replica.kill(),
    leave: () => replica.leave(),
    start: () => void replica.start(),
    freeze: () => replica.freeze(),
    thaw: () => replica.thaw(),
    stepClock: (ms: number) => replica.stepClock(ms),
  }));
  const commands = new Map<Hex, LaneState>();
  const setLane = (waiver: Hex, state: LaneState) => {
    commands.set(waiver, state);
    world.setLane(waiver, state);
  };
  const repeatCommands = () => commands.forEach((state, waiver) => void world.setLane(waiver, state));
  stageEvents(running, {
    clock,
    chain,
    directory,
    machines,
    database,
    waivers,
    setLane,
    repeatCommands,
    note,
  });
  users.begin();
  world.every(TICK_MS, () => void judged.onTick(users.submissions));
  if (isRestored(world.plan)) world.every(OPERATOR_MS, () => void openStopped(world));
  world.every(STORE_MS, () => void judged.readStore(users.submissions, false));
}
