import { randomUUID } from "node:crypto";
import { bytesToHex, type Hex, hexToBytes, type WaiverAccount } from "@gas-waiver/protocol";
import { Registry } from "prom-client";
import { expect } from "vitest";
import { NodeClient } from "../../src/chain/client/nodeClient.js";
import { createNonceProofs } from "../../src/chain/nonceProof.js";
import {
  NodeRpcError,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
  type SendOutcome,
} from "../../src/chain/rpc/rpc.js";
import type { LaneContext } from "../../src/lane/context.js";
import { createLaneMemory } from "../../src/lane/inbox/laneMemory.js";
import { LaneOffers } from "../../src/lane/inbox/laneOffers.js";
import { createRetries } from "../../src/lane/inbox/retries.js";
import { BroadcastBuffer } from "../../src/lane/law/broadcastBuffer.js";
import { Entries } from "../../src/lane/law/entries.js";
import { createStrikes, createStruckTurn } from "../../src/lane/law/strikes.js";
import { NotBroadcastError } from "../../src/lane/send/applyAnswers.js";
import { type Broadcaster, createBroadcaster } from "../../src/lane/send/broadcaster.js";
import { HeadOfLine } from "../../src/lane/send/head.js";
import { createSenderGaps } from "../../src/lane/send/senderNonces.js";
import { acceptOffered } from "../../src/lane/sign/acceptOffered.js";
import { assign } from "../../src/lane/sign/assign.js";
import { createLaneParties } from "../../src/lane/sign/plan.js";
import { createSweep, type Question } from "../../src/lane/watch/doubts.js";
import {
  createLostBlocksCheck,
  createNonceAccount,
  type LostBlocksCheck,
} from "../../src/lane/watch/lost.js";
import { createWatcher, type Watcher } from "../../src/lane/watch/watch.js";
import type { ResolvedOptions } from "../../src/model/options/options.js";
import { resolveOptions } from "../../src/model/options/reloadableOptions.js";
import { PATIENCE } from "../../src/model/patience.js";
import { createMetrics } from "../../src/model/telemetry/metrics.js";
import type { Results } from "../../src/results/results.js";
import type { LaneSigner } from "../../src/signing/laneSigner.js";
import { createSigner } from "../../src/signing/signer.js";
import { accept, CompetitorGoneError } from "../../src/store/accept/accept.js";
import type { NewSubmission } from "../../src/store/accept/newSubmission.js";
import { adoptChain } from "../../src/store/chains.js";
import { DatabaseClock } from "../../src/store/clock/databaseClock.js";
import { type HeldLane, LeaseLostError } from "../../src/store/lanes/heldLane.js";
import { registerLanes } from "../../src/store/lanes/lease.js";
import { findInFlight, type InFlightSubmission } from "../../src/store/lanes/queue/unfinished.js";
import { setLaneState } from "../../src/store/lanes/setLaneState.js";
import type { Store } from "../../src/store/store.js";
import { expireQueued, findOverdueQueued } from "../../src/store/transitions/expireQueued.js";
import { createSchedule } from "../../src/util/schedule.js";
import { createGapWatch, type GapWatch } from "./gapWatch.js";
import { ANSWERS, type Answer, type Event, MAX_REORG, type NodeAnswer } from "./laneModelEvents.js";
import { CHAIN_ID, ModelChain, type PoolKind, RefusedByNode } from "./modelChain.js";
import { bytes, newSubmissionOf } from "./submissions.js";
import { takeLease } from "./takeLease.js";
import { silent } from "./testPostgres.js";
import { optionsFor } from "./testService.js";
import { accountsOf, SECOND_KEY, userAddress, WAIVER, WAIVER_KEY } from "./user.js";

const optionsWith = (reorgDepth: number) =>
  resolveOptions({
    ...optionsFor("postgres://unused", "http://unused"),
    maxInFlight: 6,
    resendAfterMs: 5_000,
    nonceGapTimeoutMs: 10_000,
    reorgDepth,
  });
const OPTIONS = new Map([0, MAX_REORG].map((depth) => [depth, optionsWith(depth)]));
/** Long enough for all that the lane can still carry. */
const MAX_QUEUE_MS = 120_000;
const METRICS = createMetrics(new Registry(), () => []);
/** Each waiver may carry everything. */
const ROUTING: LaneContext["routing"] = {
  whyUnusable: () => undefined,
  policiesDiffer: () => false,
  carrierOf: () => "here",
  passOn: async () => {},
  hasOtherCarrier: () => false,
  hasOtherLane: () => false,
  announceWork() {},
  refresh: async () => {},
};
/** The replica whose lane it is; it accepts the submissions of users with an even number. */
const REPLICA = randomUUID();
/** The waivers of the lanes. */
const WAIVERS = accountsOf(WAIVER_KEY, SECOND_KEY);

/** A submission as the store has it. */
export interface Row {
  readonly id: string;
  readonly state: string;
  readonly inner_hash: Buffer;
  readonly sender: Buffer;
  readonly sender_nonce: string;
  /** The nonce of the wrapper that carried the InnerTx, which may be an earlier one of the submission. */
  readonly waiver_nonce: string | null;
  readonly waiver: Buffer;
  /** The nonce that the submission keeps from others. */
  readonly held_nonce: string | null;
  readonly error_reason: string | null;
  /** Null while a reorg may change it. */
  readonly finished_at: Date | null;
}

/** The kind of a run. */
export interface ModelRun {
  readonly pool: PoolKind;
  /** 0, or {@link MAX_REORG}. */
  readonly reorgDepth: number;
  /** 1, or 2 of different waivers. */
  readonly lanes: number;
  /** The chain may be restored from a backup. */
  readonly mayBeRestored: boolean;
}

/** A process that competes for the lanes. */
interface Owner {
  readonly lanes: readonly OwnedLane[];
}

/** A lane that its process owns, or believes that it does. */
interface OwnedLane {
  held: HeldLane | undefined;
  readonly context: LaneContext;
  /** The submissions of a flow are offered to their lane first. */
  readonly offers: LaneOffers;
  readonly broadcaster: Broadcaster;
  readonly watcher: Watcher;
  readonly lostBlocks: LostBlocksCheck;
  readonly accountForNonces: Question;
  /** Batches that are signed and stored, and not sent yet. */
  outbox: (readonly InFlightSubmission[])[];
  mustResend: boolean;
}

/** The events of one owner, but for the flow, which consists of others. */
type Work = Exclude<Extract<Event, { owner: number }>, { kind: "flow" }>;

class ProcessDiedError extends Error {}

/**
 * One run of one or two lanes on the real transitions in a real PostgreSQL: users, a chain in memory with its node, and two
 * processes that compete for the lanes. Time passes only by events.
 */
export class LaneModel {
  readonly chain: ModelChain;
  /** The states that the lane has published, keyed by submission. */
  readonly publishedStates = new Map<string, Set<string>>();
  readonly #store: Store;
  readonly #clock: DatabaseClock;
  readonly #chainRef: number;
  readonly #owners: Owner[];
  #answers: readonly Answer[] = ["good"];
  #lags: readonly number[] = [0];
  #dies = false;
  readonly #options: ResolvedOptions;
  readonly #run: ModelRun;
  /** The chain has lost final blocks. */
  isRestored = false;
  /** The number of times that the lane has stopped, and an operator has opened it. */
  openings = 0;
  /** The number of submissions that a lane has accepted and signed in one write. */
  offersTaken = 0;
  /** The wrappers that a node may have, by every answer that was given to them. */
  readonly #openWrappers = new Map<Hex, Uint8Array>();
  readonly #gapWatch: GapWatch;
  #nowMs = 0;
  #rivals = 0n;
  private constructor(store: Store, run: ModelRun, chainRef: number, options: ResolvedOptions) {
    this.#clock = new DatabaseClock(() => performance.now() + this.#nowMs);
    this.#clock.note(new Date());
    this.#store = { ...store, clock: this.#clock };
    this.#options = options;
    this.#run = run;
    this.chain = new ModelChain(run.pool);
    this.#gapWatch = createGapWatch(store, this.chain);
    this.#chainRef = chainRef;
    this.#owners = [this.#newOwner(), this.#newOwner()];
  }

  static async start(store: Store, run: ModelRun): Promise<LaneModel> {
    const options = OPTIONS.get(run.reorgDepth);
    if (options === undefined) throw new Error(`no options for the depth ${run.reorgDepth}`);
    await store.pool.query(
      "truncate unfinished, withdrawn, lanes, chains restart identity cascade; delete from finished",
    );
    const chain = await adoptChain(store, { chainId: CHAIN_ID, genesisHash: bytes(32, 1) });
    const model = new LaneModel(store, run, chain, options);
    await registerLanes(
      store,
      chain,
      model.#waivers.map(({ address }) => address),
    );
    await model.#forEachLane((lane) => model.happen({ kind: "takeOver", owner: 0, lane }));
    return model;
  }

  rows(): Promise<Row[]> {
    const sql = `select s.id, s.state, s.inner_hash, s.sender, s.sender_nonce, s.waiver, s.waiver_nonce,
        s.error_reason, s.finished_at, case when s.finished_at is null then u.waiver_nonce else s.waiver_nonce end as held_nonce
      from submissions s left join unfinished u on u.id = s.id order by s.id`;
    return this.#store.pool.query<Row>(sql).then(({ rows }) => rows);
  }

  /** The waiver nonces that were signed although the one below has no wrapper. */
  get gaps(): readonly string[] {
    return this.#gapWatch.gaps;
  }

  async lanes(): Promise<readonly unknown[]> {
    const { rows } = await this.#store.pool.query("select state, reason, foreign_uses from lanes");
    return rows;
  }

  /** Lets an event happen. An owner that was replaced must change nothing, which is asserted here. */
  async happen(event: Event): Promise<void> {
    switch (event.kind) {
      case "accept":
        return this.#accept(event);
      case "flow":
        return this.#flow(event);
      case "takeOver":
        return this.#takeOver(this.#laneOf(event));
      case "block":
        return this.chain.mine();
      case "reorg":
        return this.#reorg(event);
      case "restore":
        return this.#restore(event);
      case "surface":
        return this.#surface(event.which);
      case "evict":
        return this.#evict(event.which);
      case "revoke":
        this.chain.revoked.add(WAIVER);
        return;
      case "register":
        this.chain.revoked.clear();
        return;
      case "refuse":
        return this.#refuse(event.user);
      case "spend":
        return this.chain.setNonce(userAddress(event.user), this.chain.nonceOf(userAddress(event.user)) + 1n);
      case "wait":
        return this.#wait(event.ms);
      default:
        return this.#work(event);
    }
  }

  /**
   * Ends all faults, but for the refusals of single transactions, and lets time pass. Resolves to true if every submission is finished. Meanwhile, another
   * user goes on submitting for a time: a submission that no node takes ends when other transactions use the nonces of its wrappers.
   */
  async heal(): Promise<boolean> {
    this.chain.revoked.clear();
    await this.#forEachLane((lane) => this.happen({ kind: "takeOver", owner: 0, lane }));
    for (let i = 0; i < 90; i++) {
      // An operator has made sure that the restored chain is the right one.
      if (this.isRestored) await this.#openStopped();
      // The service gives up what waits for a nonce that the restored chain has lost.
      if (this.isRestored) await this.#expireQueued();
      await this.#forEachLane(async (lane) => {
        if (i < 60 && i % 3 === 1)
          await this.happen({ kind: "accept", user: 4 + 2 * lane, how: "next", lane });
        await this.happen({ kind: "assign", owner: 0, lane, answers: ["good"] });
        await this.happen({ kind: "send", owner: 0, lane, answers: ["good"] });
        await this.happen({ kind: "store", owner: 0, lane });
      });
      await this.happen({ kind: "block" });
      await this.#forEachLane((lane) =>
        this.happen({ kind: i % 3 === 0 ? "sweep" : "poll", owner: 0, lane }),
      );
      await this.happen({ kind: "wait", ms: 2_500 });
      // A row is finished when no reorg can change it any more: the lane may not have noticed the last one yet.
      if ((await this.rows()).every((row) => row.finished_at !== null)) return true;
    }
    return false;
  }

  get #waivers() {
    return WAIVERS.slice(0, this.#run.lanes);
  }

  async #forEachLane(run: (lane: number) => Promise<void>): Promise<void> {
    for (const lane of this.#waivers.keys()) await run(lane);
  }

  async #openStopped(): Promise<void> {
    for (const { address } of this.#waivers) {
      if (!(await this.#isStopped(address))) continue;
      this.openings++;
      await setLaneState(this.#store, this.#chainRef, address, "open");
    }
  }

  async #expireQueued(): Promise<void> {
    const before = this.#clock.before(MAX_QUEUE_MS);
    if (before === undefined) return;
    const terms = { maxQueueMs: MAX_QUEUE_MS, before, since: new Date(0), limit: 100 };
    const overdue = await findOverdueQueued(this.#store, this.#chainRef, terms);
    const ids = overdue.map(({ id }) => id);
    await expireQueued(this.#store, ids, MAX_QUEUE_MS);
  }

  #ownerOf(i: number): Owner {
    const found = this.#owners[i];
    if (found === undefined) throw new Error(`there is no owner ${i}`);
    return found;
  }

  /** In a run with one lane, events of the second one happen in the first. */
  #laneOf({ owner, lane = 0 }: { readonly owner: number; readonly lane?: number }): OwnedLane {
    const { lanes } = this.#ownerOf(owner);
    const found = lanes[lane % lanes.length];
    if (found === undefined) throw new Error(`there is no lane ${lane}`);
    return found;
  }

  #newOwner(): Owner {
    const read = async (calls: readonly RpcCall[]) =>
      calls.map((call, i) => this.#read(call, this.#lags[i % this.#lags.length] ?? 0));
    const send = async (calls: readonly RpcCall[]) => this.#send(calls);
    const chain = new NodeClient({
      read,
      send,
      readFromEach: async (calls) => [await read(calls)],
      sendToEach: async (call) => send([call]),
      sendToOthers: async () => {},
    });
    const results: Results = {
      publish(moved, updateOf) {
        for (const { id } of moved) this.notifyHere(id, updateOf(id));
      },
      notifyHere: (id, { state }) =>
        this.publishedStates.set(id, (this.publishedStates.get(id) ?? new Set()).add(state)),
      subscribe: () => () => {},
      close() {},
    };
    const ofProcess = {
      chain,
      results,
      replica: randomUUID(),
    };
    return { lanes: this.#waivers.map((account) => this.#newLane(account, ofProcess)) };
  }

  #newLane(account: WaiverAccount, ofProcess: Pick<LaneContext, "chain" | "results" | "replica">): OwnedLane {
    const { chain } = ofProcess;
    const laneMemory = createLaneMemory(() => this.#nowMs);
    const offers = new LaneOffers(
      () => {},
      laneMemory.hasInFlight,
      () => this.#nowMs,
    );
    const context: LaneContext = {
      ...ofProcess,
      store: this.#store,
      metrics: METRICS,
      log: silent,
      options: this.#options,
      patience: PATIENCE,
      routing: ROUTING,
      laneMemory,
      laneOffers: offers,
      parties: createLaneParties(() => this.#nowMs),
      laneSigner: this.#gapWatch.watch(account, this.#signerOf(account)),
      account,
      chainRef: this.#chainRef,
      entries: new Entries(() => this.#nowMs),
      // Writes only when an event says so.
      broadcastBuffer: new BroadcastBuffer({
        ...ofProcess,
        store: this.#store,
        log: silent,
        replica: REPLICA,
        schedule: createSchedule((error) => expect.unreachable(String(error))),
        flushDelayMs: 3_600_000,
        blockWaitMs: 3_600_000,
      }),
      headOfLine: new HeadOfLine(() => this.#nowMs),
      strikes: createStrikes(() => this.#nowMs),
      struckTurn: createStruckTurn(() => this.#nowMs),
      retries: createRetries(() => this.#nowMs),
      senderGaps: createSenderGaps(chain),
      nonceProofs: createNonceProofs({
        chain,
        reorgDepth: this.#options.reorgDepth,
        now: () => this.#nowMs,
      }),
      onLaneStopped: () => {},
    };
    const breaker = { succeed: async () => {}, open: async () => {}, avoid: async () => {} };
    const broadcaster = createBroadcaster({ ...context, breaker });
    return {
      held: undefined,
      offers,
      context,
      broadcaster,
      watcher: createWatcher(context, broadcaster),
      lostBlocks: createLostBlocksCheck(context, () => this.#nowMs),
      accountForNonces: createNonceAccount(context),
      outbox: [],
      mustResend: true,
    };
  }

  #signerOf(account: WaiverAccount): LaneSigner {
    const { signal } = new AbortController();
    return createSigner({ options: this.#options, log: silent, signal }).of(account);
  }

  async #flow({ owner, users, answers, lane = 0 }: Extract<Event, { kind: "flow" }>): Promise<void> {
    for (const user of users) {
      await this.#accept({ kind: "accept", user, how: "next", lane }, owner, true);
      await this.#work({ kind: "assign", owner, lane, answers, fromMemory: true });
      await this.#work({ kind: "send", owner, lane, answers });
    }
  }

  /** @param by the process that accepts it. */
  async #accept(
    { user, how, lane = 0 }: Extract<Event, { kind: "accept" }>,
    by: number = user % 2,
    isOffered = false,
  ): Promise<void> {
    const sender = userAddress(user);
    const own = (await this.rows()).filter(
      (row) => bytesToHex(row.sender) === sender && row.state !== "failed",
    );
    const usedNonces = new Set(own.map((row) => Number(row.sender_nonce)));
    let next = Number(this.chain.nonceOf(sender));
    while (usedNonces.has(next)) next++;
    const nonce = { next, ahead: next + 1, rival: Math.max(0, next - 1), again: Math.max(0, next - 1) }[how];
    const changes = how === "rival" ? { gasLimit: 100_001n + this.#rivals++ } : {};
    const place = { chain: this.#chainRef, origin: user % 2 === 0 ? REPLICA : randomUUID() };
    const { address } = this.#laneOf({ owner: by, lane }).context.account;
    const newSubmission = { ...newSubmissionOf(user, nonce, changes), waiver: address };
    if (isOffered && (await this.#offer(newSubmission, { owner: by, lane }))) return;
    const [acceptance] = await accept(this.#store, place, [newSubmission]).catch((error: unknown) => {
      if (!(error instanceof CompetitorGoneError)) throw error;
      return [];
    });
    // Nobody tells the other process: a notification may be lost.
    if (acceptance?.kind === "accepted")
      for (const { context } of this.#ownerOf(by).lanes) context.laneMemory.forget();
  }

  /** Offers a submission to the lane, which takes a step at once. @returns whether the lane has accepted it. */
  async #offer(
    newSubmission: NewSubmission,
    by: { readonly owner: number; readonly lane: number },
  ): Promise<boolean> {
    const worker = this.#laneOf(by);
    const { held, context, mustResend } = worker;
    if (held === undefined || mustResend || (await this.#isStopped(held.waiver))) return false;
    const answer = worker.offers.offer([newSubmission]);
    try {
      const signed = await acceptOffered(held, context);
      if (signed) worker.outbox.push(signed);
      if (signed) this.offersTaken++;
      // Nothing else takes a step that would decline it.
      if (signed === undefined) context.laneOffers.setReady(false);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
      worker.held = undefined;
    }
    return (await answer) !== undefined;
  }

  async #refuse(user: number): Promise<void> {
    const own = (await this.rows()).filter(({ sender }) => bytesToHex(sender) === userAddress(user));
    const latest = own.at(-1);
    if (latest) this.chain.refused.set(hashOfRow(latest), "TARGET_NOT_ALLOWED");
  }

  async #takeOver(taker: OwnedLane): Promise<void> {
    const { replica, account } = taker.context;
    const waiver = account.address;
    await this.#store.pool.query("update lanes set lease_until = '-infinity' where waiver = $1", [waiver]);
    const lane = { chain: this.#chainRef, waiver, owner: replica };
    const lease = await takeLease(this.#store, lane, 3_600_000);
    if (taker.held?.epoch === lease?.lane.epoch) return;
    taker.held = lease?.lane;
    taker.outbox = [];
    taker.mustResend = true;
  }

  async #work(event: Work): Promise<void> {
    if (event.kind === "crash") {
      this.#owners[event.owner] = this.#newOwner();
      return;
    }
    const worker = this.#laneOf(event);
    if (worker.held === undefined) return;
    const fenced = !(await this.#isOwner(worker.held));
    const before = fenced ? await this.rows() : undefined;
    try {
      await this.#act(event, worker, worker.held);
    } catch (error) {
      if (error instanceof ProcessDiedError) this.#owners[event.owner] = this.#newOwner();
      else if (error instanceof LeaseLostError) worker.held = undefined;
      else if (!(error instanceof NotBroadcastError)) throw error;
      worker.mustResend = true;
      worker.outbox = [];
    }
    if (before) expect(await this.rows()).toEqual(before);
  }

  async #act(event: Work, worker: OwnedLane, held: HeldLane): Promise<void> {
    const { context, broadcaster, watcher, lostBlocks } = worker;
    const isStopped = await this.#isStopped(held.waiver);
    this.#answers = "answers" in event ? event.answers : ["good"];
    this.#lags = ("lags" in event ? event.lags : undefined) ?? [0];
    this.#dies = event.kind === "sendAndDie";
    try {
      if (event.kind === "assign" && isStopped) return;
      if (event.kind === "assign") {
        if (worker.mustResend) {
          await context.broadcastBuffer.flush();
          const unsent = await findInFlight(this.#store, held, {
            state: "signed",
            limit: this.#options.maxInFlight,
          });
          await broadcaster.send(held, unsent);
          worker.mustResend = false;
        }
        // A step that takes work by what it remembers reads nothing whose pause is over.
        const due = event.fromMemory ? 0 : 4;
        const { signed } = await assign(held, { limit: 4, due }, context);
        if (signed.length > 0) worker.outbox.push(signed);
      } else if (event.kind === "store") await context.broadcastBuffer.flush();
      else if (event.kind === "poll") {
        if (!isStopped) await lostBlocks.run(held);
        await watcher.poll(held, (await this.#isStopped(held.waiver)) ? "silent" : "signs");
        while ((await context.nonceProofs.search()) === "more");
        for (const question of watcher.doubts.questions) await question(held);
        if (!isStopped) await worker.accountForNonces(held);
      } else if (event.kind === "sweep") {
        const sweep = createSweep(context);
        while ((await sweep(held)) === 0);
      } else await broadcaster.send(held, worker.outbox.shift() ?? []);
    } finally {
      this.#answers = ["good"];
      this.#lags = [0];
      this.#dies = false;
    }
  }

  async #isOwner({ waiver, owner: name, epoch }: HeldLane): Promise<boolean> {
    const { rowCount } = await this.#store.pool.query(
      "select from lanes where waiver = $1 and owner = $2 and epoch = $3",
      [waiver, name, epoch],
    );
    return rowCount === 1;
  }

  /** Reorgs are no deeper than configured, and than the chain. */
  #reorg({ depth, keepsPool }: Extract<Event, { kind: "reorg" }>): void {
    const lost = Math.min(depth, this.#options.reorgDepth, this.chain.height);
    if (lost > 0) this.chain.reorg(lost, keepsPool);
  }

  #restore({ depth, keepsPool }: Extract<Event, { kind: "restore" }>): void {
    const lost = Math.min(this.#options.reorgDepth + depth, this.chain.height);
    if (!this.#run.mayBeRestored || lost <= this.#options.reorgDepth) return;
    this.isRestored = true;
    this.chain.reorg(lost, keepsPool);
  }

  #surface(which: number): void {
    const wrappers = [...this.#openWrappers.values()];
    const raw = wrappers[which % Math.max(1, wrappers.length)];
    if (raw === undefined) return;
    try {
      this.chain.replaceInPool(raw);
    } catch (error) {
      if (!(error instanceof RefusedByNode)) throw error;
    }
  }

  async #isStopped(waiver: Uint8Array): Promise<boolean> {
    const { rowCount } = await this.#store.pool.query(
      "select from lanes where waiver = $1 and state = 'stopped'",
      [waiver],
    );
    return rowCount === 1;
  }

  #evict(which: number | "all"): void {
    if (which === "all") this.chain.clearPool();
    else this.chain.evict(which);
  }

  async #wait(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.#store.pool.query(
      `update unfinished set accepted_at = accepted_at - $1 * interval '1 millisecond',
         look_at = look_at - $1 * interval '1 millisecond',
         broadcast_at = broadcast_at - $1 * interval '1 millisecond'`,
      [ms],
    );
    this.#clock.note(new Date());
  }

  #read({ method, params }: RpcCall, lag: number): RpcOutcome {
    try {
      return { result: this.chain.read(method, params, lag) };
    } catch (error) {
      if (!(error instanceof RefusedByNode)) throw error;
      return { error: new NodeRpcError(-32_000, error.message, error.data) };
    }
  }

  #send(calls: readonly RpcCall[]): SendOutcome[] {
    const outcomes = calls.map(({ params }, i): SendOutcome => {
      const answer = this.#answers[i % this.#answers.length] ?? "good";
      const raw = hexToBytes(params[0] as Hex);
      const outcome = this.#answer(raw, ANSWERS[answer]);
      // The chain's own refusals, and a request that did not arrive, leave no wrapper behind.
      const isByRules = "error" in outcome && !("failure" in ANSWERS[answer]);
      if (!isByRules && answer !== "notReached") this.#openWrappers.set(params[0] as Hex, raw);
      return { ...outcome, requests: answer === "notReached" ? 0 : 1 };
    });
    if (this.#dies) throw new ProcessDiedError();
    return outcomes;
  }

  #answer(raw: Uint8Array, { pools, forgets, failure }: NodeAnswer): RpcOutcome {
    try {
      const result = pools || failure === undefined ? bytesToHex(this.chain.addToPool(raw, forgets)) : "0x";
      if (failure === undefined) return { result };
    } catch (error) {
      if (!(error instanceof RefusedByNode)) throw error;
      if (failure === undefined) return { error: new NodeRpcError(-32_000, error.message, error.data) };
    }
    if (failure === "silence") return { error: new RpcUnavailableError("no answer", "unknown") };
    if (failure === "not reached") return { error: new RpcUnavailableError("refused", "no") };
    return { error: new NodeRpcError(-32_000, failure) };
  }
}

/** The InnerTx's hash. */
export function hashOfRow({ inner_hash }: Row): Hex {
  return bytesToHex(inner_hash);
}
