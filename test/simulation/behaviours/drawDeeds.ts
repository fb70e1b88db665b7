import { gatewayPage } from "../../nodeZoo/troubleWords.js";
import type { SeededRandom } from "../../support/seededRandom.js";
import type { CallDeed, ChainDeed, HostDeed, Subject, TransportDeed, When } from "./behaviour.js";
import type { Frame } from "./frame.js";
import { drawConnectError, drawError, drawValue, STATUSES } from "./words.js";

const drawWhen = (random: SeededRandom): When => random.pick(["before", "after"]);

type Draw<D> = (random: SeededRandom) => D;

const TRANSPORT: readonly Draw<TransportDeed>[] = [
  (random) => ({ deed: "no connection", code: drawConnectError(random) }),
  (random) => ({ deed: "reset", when: drawWhen(random), keptOnly: random.chance(0.5) }),
  (random) => ({ deed: "hang", when: drawWhen(random) }),
  (random) => ({ deed: "status", when: drawWhen(random), ...drawPage(random) }),
  (random) => ({
    ...{
      deed: "one error",
      when: drawWhen(random),
      status: random.chance(0.5) ? 200 : random.pick(STATUSES),
    },
    ...{ error: drawError(random), id: random.pick([null, null, 0, "x"]) },
  }),
  (random) => ({ deed: "cut", share: random.next() }),
  () => ({ deed: "twice" }),
  () => ({ deed: "another order" }),
  (random) => ({ deed: "foreign ids", by: random.pick([1, 100, -1]) }),
  (random) => ({ deed: "missing answers", share: random.pick([0.2, 0.5, 1]) }),
  (random) => ({ deed: "slow", ms: random.pick([200, 1_000, 4_000, 6_000]) }),
];

function drawPage(random: SeededRandom): { readonly status: number; readonly body: string } {
  if (random.chance(0.5)) return gatewayPage(random);
  const body = random.pick([
    "",
    "null",
    "{}",
    "[]",
    '"ok"',
    "Payment Required",
    "Forbidden",
    "<html></html>",
  ]);
  return { status: random.pick(STATUSES), body };
}

/** The deeds of the transport that need to have read a request do not refuse connections. */
export function drawTransport(random: SeededRandom, { method, sender, moreThan }: Subject): TransportDeed {
  const hasRead = method !== undefined || sender !== undefined || moreThan !== undefined;
  return random.pick(hasRead ? TRANSPORT.slice(1) : TRANSPORT)(random);
}

const MEMBERS = [
  ...["blockHash", "blockNumber", "status", "gasUsed", "hash", "timestamp", "number", "transactions"],
  ...["nonce", "from", "to", "input", "parentHash"],
];

const CALLS: readonly Draw<CallDeed>[] = [
  (random) => ({ deed: "result", when: drawWhen(random), value: drawValue(random) }),
  (random) => ({ deed: "error", when: drawWhen(random), error: drawError(random) }),
  (random) => ({
    ...{ deed: "member", name: random.pick(MEMBERS) },
    ...(random.chance(0.8) && { value: random.chance(0.6) ? null : drawValue(random) }),
  }),
  (random) => ({ deed: "behind", blocks: random.pick([1, 2, 5, 10, 20, 40, 60]) }),
  (random) => ({ deed: "another fork", blocks: random.pick([1, 2, 3, 10]) }),
  (random) => ({
    ...{ deed: "pruned", blocks: random.pick([2, 6, 8, 16, 64]) },
    what: random.pick(["states", "blocks"]),
  }),
  (random) => ({ deed: "block times", seconds: random.pick([-3_600, -60, -15, 15, 60, 3_600, 86_400]) }),
];

export function drawCall(random: SeededRandom, { unknown }: Subject): CallDeed {
  return random.pick(unknown === true ? CALLS.slice(0, 2) : CALLS)(random);
}

/** Draws a deed of pools and blocks with a sender's wrappers, or of the sender beside the service. */
export function drawSendersDeed(random: SeededRandom): ChainDeed {
  return random.pick<Draw<ChainDeed>>([
    () => ({ deed: "forget" }),
    () => ({ deed: "never include" }),
    () => ({ deed: "evict", everyMs: random.pick([100, 1_000, 5_000]) }),
    () => ({ deed: "pays itself", afterMs: random.pick([0, 50, 300, 1_000]) }),
  ])(random);
}

/** Draws a deed that strikes the whole chain or a key. */
export function drawChainDeed(random: SeededRandom, { reorgDepth, keys }: Frame): ChainDeed {
  return random.pick<Draw<ChainDeed>>([
    () => ({ deed: "forget" }),
    () => ({ deed: "evict", everyMs: random.pick([100, 1_000, 5_000]) }),
    () => ({
      ...{
        deed: "reorg",
        depth: random.chance(0.8) ? random.between(1, Math.max(1, reorgDepth)) : random.between(3, 12),
      },
      keepsPools: random.chance(0.6),
    }),
    () => ({ deed: "halt" }),
    () => ({ deed: "chain times", seconds: random.pick([15, 60, 3_600]) }),
    () => ({ deed: "foreign use", waiver: random.between(0, keys - 1) }),
  ])(random);
}

const STEPS_MS = [-3_600_000, -60_000, -2_000, 2_000, 60_000, 720_000, 3_600_000, 302_400_000];

export function drawHostDeed(random: SeededRandom, { replicas }: Frame): HostDeed {
  const replica = random.between(0, replicas - 1);
  return random.pick<Draw<HostDeed>>([
    () => ({ deed: "kill", replica }),
    () => ({ deed: "freeze", replica }),
    () => ({ deed: "clock step", replica, ms: random.pick(STEPS_MS) }),
    () => ({ deed: "end sessions" }),
    () => ({ deed: "read-only" }),
    () => ({ deed: "slow database", ms: random.pick([5, 20, 100]) }),
    () => ({ deed: "database clock step", ms: random.pick(STEPS_MS) }),
  ])(random);
}
