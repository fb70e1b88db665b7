import fc from "fast-check";

// The events of which one run of the lane's model consists (see laneModel.ts).

/** The node's answer to one wrapper. */
export interface NodeAnswer {
  /** The wrapper enters the pool, although the answer is a failure. */
  readonly pools?: boolean;
  /** The node answers with a success, and forgets the wrapper. */
  readonly forgets?: boolean;
  /** The message of a JSON-RPC error, or `silence` or `not reached`; undefined for an answer by the chain's rules. */
  readonly failure?: string;
}

/** The answers of the model's nodes. With a name that begins with `pooled`, the wrapper enters the pool nevertheless. */
export const ANSWERS = {
  good: {},
  forgets: { forgets: true },
  silence: { failure: "silence" },
  pooledSilence: { pools: true, failure: "silence" },
  notReached: { failure: "not reached" },
  rateLimited: { failure: "rate limit exceeded" },
  poolFull: { failure: "txpool is full" },
  unknownError: { failure: "internal error" },
  pooledUnknownError: { pools: true, failure: "internal error" },
  alreadyKnown: { failure: "already known" },
  nonceTooLow: { failure: "nonce too low: next nonce 9, tx nonce 8" },
  pooledNonceTooLow: { pools: true, failure: "nonce too low: next nonce 9, tx nonce 8" },
  underpriced: { failure: "replacement transaction underpriced" },
  pooledUnderpriced: { pools: true, failure: "replacement transaction underpriced" },
} as const satisfies Record<string, NodeAnswer>;
export type Answer = keyof typeof ANSWERS;

/**
 * The nodes that answer the calls of each request in turn, each by the number of blocks that it is behind. Without
 * `lags`, none is behind. With several entries, a load balancer has split the request.
 */
interface Reads {
  readonly lags?: readonly number[];
}

/** The number of the lane; the first one without it. Only runs with two lanes have a second one. */
interface InLane {
  readonly lane?: number;
}

export type Event =
  /**
   * A user submits the next nonce, one ahead of it, another transaction for the nonce before it, or the same bytes. The service
   * places it in this lane, unless its sender is in another.
   */
  | ({
      readonly kind: "accept";
      readonly user: number;
      readonly how: "next" | "ahead" | "rival" | "again";
    } & InLane)
  /**
   * These users submit their next nonces to this owner, one after the other. After each, the lane takes a step, for which it need
   * not read the queue where it knows it as empty, and sends.
   */
  | ({
      readonly kind: "flow";
      readonly owner: number;
      readonly users: readonly number[];
      readonly answers: readonly Answer[];
    } & InLane)
  /**
   * The owner takes its next step. An owner that must resend first sends the signed wrappers, and the node gives these
   * answers in turn. Then it signs and stores new wrappers, without sending them yet. With `fromMemory`, it need not read
   * the queue.
   */
  | ({
      readonly kind: "assign";
      readonly owner: number;
      readonly answers: readonly Answer[];
      readonly fromMemory?: boolean;
    } & Reads &
      InLane)
  /** The owner sends its oldest stored batch, and the node gives these answers in turn. */
  | ({ readonly kind: "send"; readonly owner: number; readonly answers: readonly Answer[] } & Reads & InLane)
  /** Like `send`, but the process dies before it gets the answers. */
  | ({ readonly kind: "sendAndDie"; readonly owner: number; readonly answers: readonly Answer[] } & Reads &
      InLane)
  /** The owner stores which wrappers the node has accepted, earlier than its next step would. */
  | ({ readonly kind: "store"; readonly owner: number } & InLane)
  /** The process ends, with all its lanes. */
  | { readonly kind: "crash"; readonly owner: number }
  /** The lease has run out, and this owner takes the lane. The owner before does not know. */
  | ({ readonly kind: "takeOver"; readonly owner: number } & InLane)
  | ({ readonly kind: "poll" | "sweep"; readonly owner: number } & Reads & InLane)
  /** Removes the newest blocks, at most as many as the configured depth. The pool has their wrappers again, or not. */
  | { readonly kind: "reorg"; readonly depth: number; readonly keepsPool: boolean }
  /**
   * The chain is restored from a backup that lacks final blocks: so many more than a reorg may remove. The pool has their
   * wrappers again, or not. Only in runs with restored chains.
   */
  | { readonly kind: "restore"; readonly depth: number; readonly keepsPool: boolean }
  /**
   * A wrapper that was sent once comes back from another node's pool, and takes the place of one with its nonce: perhaps
   * it was set aside long ago.
   */
  | { readonly kind: "surface"; readonly which: number }
  | { readonly kind: "block" }
  /** The pool forgets one wrapper, or all. */
  | { readonly kind: "evict"; readonly which: number | "all" }
  | { readonly kind: "revoke" | "register" }
  /** From now on the node refuses this user's latest transaction; or the user spends a nonce without the service. */
  | { readonly kind: "refuse" | "spend"; readonly user: number }
  | { readonly kind: "wait"; readonly ms: number };

const owner = fc.nat({ max: 1 });
const lane = fc.constantFrom(0, 0, 1);
const answers = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Answer>("good") },
    { weight: 4, arbitrary: fc.constantFrom(...(Object.keys(ANSWERS) as Answer[])) },
  ),
  { minLength: 1, maxLength: 6 },
);
const lags = fc.oneof(
  { weight: 5, arbitrary: fc.constant<readonly number[]>([0]) },
  { weight: 1, arbitrary: fc.constantFrom<readonly number[]>([1], [3]) },
  { weight: 1, arbitrary: fc.array(fc.nat({ max: 3 }), { minLength: 2, maxLength: 5 }) },
);
const fromMemory = fc.constantFrom(true, true, false);
const kind = <K extends string>(...kinds: K[]) => fc.constantFrom(...kinds);

/** The most blocks that a reorg removes, in runs with reorgs. */
export const MAX_REORG = 2;

/** Any event. Ordinary events come more often than faults. */
export const EVENT: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: kind("accept"),
      user: fc.integer({ min: 1, max: 3 }),
      how: fc.constantFrom("next", "next", "next", "ahead", "rival", "again"),
      lane,
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: kind("assign"), owner, lane, answers, lags, fromMemory }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: kind("flow"),
      owner,
      lane,
      users: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 4 }),
      answers,
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: kind("send"), owner, lane, answers, lags }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("sendAndDie"), owner, lane, answers, lags }) },
  { weight: 3, arbitrary: fc.record({ kind: kind("store"), owner, lane }) },
  { weight: 1, arbitrary: fc.record({ kind: kind("crash"), owner }) },
  { weight: 2, arbitrary: fc.record({ kind: kind("takeOver"), owner, lane }) },
  { weight: 3, arbitrary: fc.record({ kind: kind("poll", "poll", "sweep"), owner, lane, lags }) },
  { weight: 4, arbitrary: fc.constant<Event>({ kind: "block" }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: kind("reorg"),
      depth: fc.integer({ min: 1, max: MAX_REORG }),
      keepsPool: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: kind("restore"),
      depth: fc.integer({ min: 1, max: 4 }),
      keepsPool: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind("surface"), which: fc.nat({ max: 11 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind("evict"), which: fc.oneof(fc.nat({ max: 5 }), kind("all")) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind("revoke", "register", "register") }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind("refuse", "spend"), user: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind("wait"), ms: fc.constantFrom(60, 300, 2_500, 6_000) }) },
);

/** Sequences of events that random runs seldom find, for two lanes. */
export const EXAMPLES: [Event[]][] = [
  [
    [
      // A sender's later nonce comes first, to a lane that need not read its queue.
      { kind: "assign", owner: 0, answers: ["good"], fromMemory: true },
      { kind: "accept", user: 2, how: "ahead" },
      { kind: "accept", user: 2, how: "next" },
      { kind: "assign", owner: 0, answers: ["good"], fromMemory: true },
      { kind: "send", owner: 0, answers: ["good"] },
    ],
  ],
  [
    [
      // The node refuses a user's first transaction, and has taken the second.
      { kind: "accept", user: 1, how: "next" },
      { kind: "accept", user: 1, how: "next" },
      { kind: "assign", owner: 0, answers: ["good"] },
      { kind: "send", owner: 0, answers: ["unknownError", "good"] },
      { kind: "assign", owner: 0, answers: ["unknownError"] },
      { kind: "assign", owner: 0, answers: ["unknownError"] },
      { kind: "assign", owner: 0, answers: ["unknownError"] },
    ],
  ],
  [
    [
      // A withdrawn wrapper carries its transaction after all, and the second wrapper stays in the pool.
      { kind: "accept", user: 3, how: "next" },
      { kind: "revoke" },
      { kind: "accept", user: 3, how: "next" },
      { kind: "accept", user: 1, how: "ahead" },
      { kind: "assign", owner: 0, answers: ["good"] },
      { kind: "send", owner: 0, answers: ["good", "poolFull"] },
      { kind: "accept", user: 3, how: "next" },
      { kind: "wait", ms: 2_500 },
      { kind: "accept", user: 1, how: "next" },
      { kind: "wait", ms: 60 },
      { kind: "accept", user: 1, how: "next" },
    ],
  ],
  [
    [
      // The second waiver is ahead. A sender's next nonce is meant for its lane, and stays with the one before in the first lane.
      { kind: "flow", owner: 0, lane: 1, users: [4, 6], answers: ["good"] },
      { kind: "block" },
      { kind: "poll", owner: 0, lane: 1 },
      { kind: "assign", owner: 0, lane: 1, answers: ["good"] },
      { kind: "assign", owner: 0, lane: 0, answers: ["good"] },
      { kind: "accept", user: 2, how: "next", lane: 0 },
      { kind: "accept", user: 2, how: "next", lane: 1 },
      { kind: "assign", owner: 0, lane: 0, answers: ["good"], fromMemory: true },
      { kind: "send", owner: 0, lane: 0, answers: ["good"] },
    ],
  ],
];

/** A chain that loses a final block with two transactions, while a third one is in flight. */
export const RESTORED: readonly Event[] = [
  { kind: "accept", user: 1, how: "next" },
  { kind: "accept", user: 2, how: "next" },
  { kind: "assign", owner: 0, answers: ["good"] },
  { kind: "send", owner: 0, answers: ["good"] },
  { kind: "block" },
  { kind: "poll", owner: 0 },
  { kind: "accept", user: 3, how: "next" },
  { kind: "assign", owner: 0, answers: ["good"] },
  { kind: "send", owner: 0, answers: ["good"] },
  { kind: "restore", depth: 1, keepsPool: false },
];
