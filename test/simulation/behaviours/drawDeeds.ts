import { gatewayPage } from "../../nodeZoo/troubleWords.js";
import type { SeededRandom } from "../../support/seededRandom.js";
import type { CallDeed, ChainDeed, HostDeed, Subject, TransportDeed, When } from "./behaviour.js";
import type { Frame } from "./frame.js";
import { drawConnectError, drawError, drawValue, STATUSES } from "./words.js";

const drawWhen = (random: SeededRandom): When => random.pick(["before", "after"]);

type Draw<D> = (random: SeededRandom) => D;

/** A draw as often as its weight among the others. */
function weighted<D>(...draws: readonly (readonly [weight: number, draw: Draw<D>])[]): readonly Draw<D>[] {
  return draws.flatMap(([weight, draw]) => Array<Draw<D>>(weight).fill(draw));
}

const NO_CONNECTION = weighted<TransportDeed>([
  2,
  (random) => ({ deed: "no connection", code: drawConnectError(random) }),
]);
/** A limit of rate, or a gateway without a backend, says when to come back. */
const ASKS_FOR_SILENCE = weighted<TransportDeed>([
  1,
  (random) => ({
    ...{ deed: "status", when: "before", status: random.pick([429, 429, 503]), body: "" },
    retryAfter: random.pick([1, 5, 30, 3_600]),
  }),
]);
/** A proxy has read the request for these. */
const hasRead = ({ method }: Subject) =>
  weighted<TransportDeed>(
    [3, (random) => ({ deed: "reset", when: drawWhen(random), keptOnly: random.chance(0.6) })],
    [1, (random) => ({ deed: "hang", when: drawWhen(random) })],
    [2, (random) => ({ deed: "status", when: drawWhen(random), ...drawPage(random) })],
    [3, (random) => drawOneError(random, method)],
    [1, (random) => ({ deed: "cut", share: random.next() })],
    [1, () => ({ deed: "twice" })],
    [1, () => ({ deed: "another order" })],
    [1, (random) => ({ deed: "foreign ids", by: random.pick([1, 100, -1]) })],
    [1, (random) => ({ deed: "missing answers", share: random.pick([0.2, 0.5, 1]) })],
    [1, (random) => ({ deed: "slow", ms: random.pick([200, 1_000, 4_000, 6_000]) })],
  );

function drawOneError(random: SeededRandom, method: string | undefined): TransportDeed {
  const status = random.chance(0.5) ? 200 : random.pick(STATUSES);
  const id = random.pick([null, null, null, 0, "x"]);
  return { deed: "one error", when: drawWhen(random), status, error: drawError(random, method), id };
}

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

/**
 * The deeds of the transport that need to have read a request do not refuse connections. An endpoint asks for silence because of its own
 * state, not of one sender or list.
 */
export function drawTransport(random: SeededRandom, subject: Subject): TransportDeed {
  const { method, sender, moreThan, block } = subject;
  const isOfContent = sender !== undefined || moreThan !== undefined || block !== undefined;
  const isRead = method !== undefined || isOfContent;
  return random.pick([
    ...(isRead ? [] : NO_CONNECTION),
    ...(isOfContent ? [] : ASKS_FOR_SILENCE),
    ...hasRead(subject),
  ])(random);
}

const RECEIPT = ["blockHash", "blockNumber", "status", "gasUsed"];
const BLOCK = ["hash", "number", "timestamp", "transactions", "parentHash"];
const TRANSACTION = ["blockNumber", "hash", "from", "nonce", "to", "input"];
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  eth_getTransactionReceipt: RECEIPT,
  eth_getBlockByNumber: BLOCK,
  eth_getTransactionByHash: TRANSACTION,
};
const ANY_MEMBER = [...new Set([...RECEIPT, ...RECEIPT, ...BLOCK, ...TRANSACTION])];

function drawCallError(random: SeededRandom, method?: string): CallDeed {
  return { deed: "error", when: drawWhen(random), error: drawError(random, method) };
}

/** The deeds of a node that answers one sender's calls. */
const callsOf = ({ method }: Subject) =>
  weighted<CallDeed>(
    [2, (random) => ({ deed: "result", when: drawWhen(random), value: drawValue(random) })],
    [3, (random) => drawCallError(random, method)],
    [2, (random) => drawMember(random, MEMBERS[method ?? ""] ?? ANY_MEMBER)],
  );

/** The deeds of a node that is wrong about the chain. */
const VIEWS = weighted<CallDeed>(
  [3, (random) => ({ deed: "behind", blocks: random.pick([1, 3, 10, 20, 40, 60, 90]) })],
  [1, (random) => ({ deed: "another fork", blocks: random.pick([1, 2, 3, 10]) })],
  [2, drawPruned],
  [2, (random) => ({ deed: "block times", seconds: random.pick([-3_600, -60, -15, 15, 60, 3_600, 86_400]) })],
);

function drawMember(random: SeededRandom, names: readonly string[]): CallDeed {
  const value = random.chance(0.6) ? null : drawValue(random);
  return { deed: "member", name: random.pick(names), ...(random.chance(0.8) && { value }) };
}

export function drawPruned(random: SeededRandom): CallDeed {
  return {
    deed: "pruned",
    blocks: random.pick([2, 6, 6, 8, 16, 64]),
    what: random.pick(["states", "blocks"]),
  };
}

export function drawCall(random: SeededRandom, subject: Subject): CallDeed {
  if (subject.unknown === true) return drawCallError(random);
  const isAboutOne = subject.sender !== undefined || subject.block !== undefined;
  return random.pick(isAboutOne ? callsOf(subject) : [...callsOf(subject), ...VIEWS])(random);
}

/** Draws a deed of pools and blocks with a sender's wrappers, or of the sender beside the service. */
export function drawSendersDeed(random: SeededRandom): ChainDeed {
  return random.pick<Draw<ChainDeed>>([
    () => ({ deed: "forget" }),
    () => ({ deed: "never include" }),
    () => ({ deed: "evict", everyMs: random.pick([100, 1_000, 5_000]) }),
    () => ({ deed: "pays itself", afterMs: random.pick([0, 50, 300, 1_000]) }),
    () => ({ deed: "delegates", afterMs: random.pick([0, 50, 300, 1_000]) }),
  ])(random);
}

/** Draws a deed that strikes the whole chain or a key. */
export function drawChainDeed(random: SeededRandom, { reorgDepth, keys }: Frame): ChainDeed {
  const deeds = weighted<ChainDeed>(
    [2, () => ({ deed: "forget" })],
    [2, () => ({ deed: "evict", everyMs: random.pick([100, 1_000, 5_000]) })],
    [reorgDepth, () => drawReorg(random, random.between(1, reorgDepth))],
    // Deeper than the service reckons with: its lanes may stop, until an operator opens them.
    [3, () => drawReorg(random, random.between(reorgDepth + 1, 12))],
    [2, () => ({ deed: "halt" })],
    [2, () => ({ deed: "chain times", seconds: random.pick([15, 60, 3_600]) })],
    [1, () => ({ deed: "foreign use", waiver: random.between(0, keys - 1) })],
  );
  return random.pick(deeds)(random);
}

function drawReorg(random: SeededRandom, depth: number): ChainDeed {
  return { deed: "reorg", depth, keepsPools: random.chance(0.6) };
}

const STEPS_MS = [-3_600_000, -60_000, -2_000, 2_000, 60_000, 720_000, 3_600_000, 302_400_000, 302_400_000];

export function drawHostDeed(random: SeededRandom, { replicas }: Frame): HostDeed {
  const replica = random.between(0, replicas - 1);
  const deeds = weighted<HostDeed>(
    [1, () => ({ deed: "kill", replica })],
    [1, () => ({ deed: "freeze", replica })],
    [1, () => ({ deed: "leave", replica })],
    [3, () => ({ deed: "clock step", replica, ms: random.pick(STEPS_MS) })],
    [1, () => ({ deed: "end sessions" })],
    [1, () => ({ deed: "read-only" })],
    [1, () => ({ deed: "database away" })],
    [1, () => ({ deed: "full disk" })],
    [1, () => ({ deed: "failover" })],
    [1, () => ({ deed: "slow database", ms: random.pick([5, 20, 100]) })],
    [2, () => ({ deed: "database clock step", ms: random.pick(STEPS_MS) })],
  );
  return random.pick(deeds)(random);
}
