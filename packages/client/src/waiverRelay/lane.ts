import { bytesToHex, type Hex, type SendVerdictKind, type WaiverAccount } from "@gas-waiver/protocol";
import type { Journal } from "../bulk/journal.js";
import { type ChainView, endingsOf, viewOf } from "./chainView.js";
import type { Counts, Ending, Entry, Failure, Wrapper } from "./entry.js";
import { type Nodes, type SendOutcome, wasNotReached } from "./nodes.js";
import { placementOf } from "./placement.js";
import { WaiverRelayError } from "./relayError.js";
import { accepted, ended, signed } from "./relayJournal.js";
import { hashOf, wrapInner } from "./wrap.js";

export interface LaneOptions {
  readonly nodes: Nodes;
  readonly waiver: WaiverAccount;
  readonly wrapping: Pick<Parameters<typeof wrapInner>[2], "verificationGas" | "innerEncoding">;
  readonly journal: Journal | undefined;
  /** The blocks on top of a final one. */
  readonly reorgDepth: number;
}

/** The pauses between two rounds, in ms: after progress, and the longest without. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
/** The time in which a sender's missing nonce may come, in ms. */
const NONCE_GAP_MS = 10_000;
/** The time in which the journal takes a failure, in ms. After it, the call is in doubt: a later relay would send the bytes. */
const MAX_WRITE_MS = 5_000;
/** The blocks that may leave out the next wrapper before it is sent again. */
const PASSED_OVER_BLOCKS = 5;
/** The unclear answers to a wrapper, after which its nonce goes to another one, and the time for which it waits then, in ms. */
const MAX_STRIKES = 3;
const SET_ASIDE_MS = 5_000;

/**
 * The outbox of one waiver. A round reads the chain, ends what final blocks have decided, gives the waiver's next nonces to what
 * can run, signs, stores the bytes in the journal, and only then sends them:
 *
 * ```
 *  waiting ──► wrapped ──► taken ──► included
 *     ▲           │          │
 *     └───────────┴──────────┘ its nonce is used, or goes to another one
 * ```
 *
 * After any doubt the same bytes go out again. An entry fails only where no wrapper of it can land: as the answer to the only
 * request that ever carried one, or because a final block shows its sender's nonce used by something else.
 */
export class Lane {
  readonly #options: LaneOptions;
  /** The entries that have not ended, in the order in which they came. */
  readonly #entries = new Map<Hex, Entry>();
  #view: ChainView | undefined;
  #running: Promise<void> | undefined;
  #wake: () => void = () => undefined;
  #waiting = 0;
  /** The lines for the next write, and the entries whose calls hear of their failure after it. */
  readonly #lines: string[] = [];
  readonly #untold: Entry[] = [];
  #written = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Takes an entry over. @returns the one with the same bytes that is under way, if there is one. */
  add(entry: Entry): Entry {
    const same = this.#entries.get(entry.hash);
    if (same) return same;
    this.#entries.set(entry.hash, entry);
    this.#start();
    return entry;
  }

  /**
   * Waits until a node has the entry, or until it is in a final block.
   * @param endsAt the time on `performance.now()` after which it is given up where nothing of it was sent.
   * @throws WaiverRelayError
   */
  async wait(entry: Entry, stage: "taken" | "ended", endsAt: number): Promise<void> {
    this.#waiting++;
    this.#wake();
    try {
      if (!this.#failure) await settledBy(entry[stage].promise, endsAt);
    } finally {
      this.#waiting--;
    }
    if (!this.#failure && entry.ending === undefined && !entry[stage].isResolved) this.#giveUp(entry);
    if (entry.ending) await settledBy(entry.ended.promise, performance.now() + MAX_WRITE_MS);
    if (entry.ending === undefined && this.#failure) throw this.#unfinished(entry, this.#failure.error);
    const { ending, raw, hash } = entry;
    if (ending?.kind === "failed" && entry.ended.isResolved)
      throw new WaiverRelayError(ending.failure, { txHash: hash });
    if (stage === "ended" && ending?.kind === "included" && ending.reverted)
      throw new WaiverRelayError(reverted(hash), { txHash: hash });
    if (!entry[stage].isResolved) throw WaiverRelayError.inDoubt(raw, hash, entry.trouble);
  }

  /** Ends the rounds. What was sent stays in the journal. @param error for calls that still wait. */
  async close(error: Error): Promise<void> {
    this.#fail(error);
    this.#options.nodes.close(error);
    await this.#running;
  }

  #start(): void {
    this.#wake();
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // One may have come after the last round.
      if (this.#entries.size > 0 && this.#failure === undefined) this.#start();
    });
  }

  async #run(): Promise<void> {
    for (let idle = 0; this.#entries.size > 0 && this.#failure === undefined; idle++) {
      try {
        if (await this.#round()) idle = 0;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        for (const entry of this.#entries.values()) entry.trouble = { reason: "NOT_BROADCAST", message };
      }
      if (this.#entries.size === 0) break;
      await this.#pause(Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** idle));
    }
    await this.#store().catch(() => undefined);
  }

  /** Pauses until the time is over or a call comes. The process may end meanwhile, unless a call waits. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      if (this.#waiting === 0) Object(timer).unref?.();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** @returns whether it has changed anything. */
  async #round(): Promise<boolean> {
    const { nodes, waiver, reorgDepth } = this.#options;
    const entries = [...this.#entries.values()];
    const senders = [...new Set(entries.map(({ sender }) => sender))];
    const view = await viewOf(nodes, bytesToHex(waiver.address), senders, reorgDepth);
    this.#view = view;
    for (const entry of entries) entry.searched ??= view.finalBlock;
    const before = this.#entries.size;
    await this.#settle(entries, view);
    await this.#storeFailures();
    const open = entries.filter(({ ending }) => ending === undefined);
    const { placed, withdrawn } = placementOf(open, view.latest, performance.now());
    for (const entry of withdrawn) entry.withdraw((entry.wrapper?.asked ?? 0) > 0);
    await this.#sign(placed);
    return (await this.#send(view)) || this.#entries.size < before;
  }

  /** Ends what final blocks have decided, and what waits in vain for its sender's earlier nonce. */
  async #settle(entries: readonly Entry[], { final, finalBlock, latest }: ChainView): Promise<void> {
    const isUsed = ({ sender, inner }: Entry) => (final.senders.get(sender) ?? 0n) > inner.nonce;
    const used = entries.filter((entry) => entry.ending === undefined && isUsed(entry));
    for (const [entry, ending] of await endingsOf(this.#options.nodes, used, finalBlock))
      this.#end(entry, ending);
    const nameOf = ({ sender, inner }: Entry, nonce = inner.nonce) => `${sender} ${nonce}`;
    const nonces = new Set(entries.filter(({ ending }) => !ending).map((entry) => nameOf(entry)));
    for (const entry of entries) {
      if (entry.ending || isUsed(entry)) continue;
      // The InnerTx has not run, so something else has used the nonce.
      if (entry.wrapper && entry.wrapper.nonce < final.waiver) entry.withdraw(false);
      const missing = entry.inner.nonce - 1n;
      const isMissing =
        missing >= (latest.senders.get(entry.sender) ?? 0n) && !nonces.has(nameOf(entry, missing));
      if (!isMissing) continue;
      // A call whose time ends before the gap's says what it waited for.
      entry.trouble ??= nonceGap(missing);
      const isLate = performance.now() - entry.waitingSince > NONCE_GAP_MS;
      if (!isLate || !entry.isUnsent(final)) continue;
      this.#end(entry, { kind: "failed", failure: nonceGap(missing) });
      nonces.delete(nameOf(entry));
    }
  }

  /** Signs, and stores what was signed. An entry whose wrapper cannot be signed leaves the later ones for another round. */
  async #sign(placed: readonly { readonly entry: Entry; readonly nonce: bigint }[]): Promise<void> {
    const { waiver, wrapping } = this.#options;
    const wrapped: { entry: Entry; wrapper: Wrapper }[] = [];
    for (const { entry, nonce } of placed) {
      try {
        const raw = await wrapInner(entry.inner, waiver, { nonce, ...wrapping });
        wrapped.push({ entry, wrapper: { nonce, raw, hash: hashOf(raw), asked: 0, strikes: 0 } });
      } catch (error) {
        const message = `the waiver has not signed: ${error instanceof Error ? error.message : String(error)}`;
        entry.trouble = { reason: "NOT_BROADCAST", message };
        break;
      }
    }
    // Calls that have ended meanwhile were told that nothing of them was sent, and a later relay carries what the journal has.
    if (this.#failure) throw this.#failure.error;
    const open = wrapped.filter(({ entry }) => entry.ending === undefined);
    for (const { entry, wrapper } of open) {
      if (!entry.isJournaled) this.#lines.push(accepted(entry));
      entry.isJournaled = true;
      this.#lines.push(signed(entry, wrapper.nonce, wrapper.raw));
    }
    if (open.length > 0) await this.#store();
    for (const { entry, wrapper } of open) {
      if (entry.ending) continue;
      entry.withdraw((entry.wrapper?.asked ?? 0) > 0);
      entry.wrapper = wrapper;
    }
  }

  /** Writes the lines into the journal, behind the write before, and tells of failures then. */
  #store(): Promise<void> {
    const written = this.#written.then(() => this.#write());
    this.#written = written.catch(() => undefined);
    return written;
  }

  async #write(): Promise<void> {
    const [lines, untold] = [this.#lines.splice(0), this.#untold.splice(0)];
    try {
      if (this.#failure) throw this.#failure.error;
      if (lines.length > 0) await this.#options.journal?.append(lines.map((line) => `${line}\n`).join(""));
    } catch (error) {
      // A later relay may send what has failed.
      for (const entry of untold) entry.ending = undefined;
      // It is not known which lines are there, so nothing more may be sent.
      this.#fail(error);
      throw error;
    } finally {
      for (const entry of untold) entry.tell();
    }
  }

  async #storeFailures(): Promise<void> {
    if (this.#untold.length > 0) await this.#store();
  }

  /** Sends what no node is known to have, and what blocks have left out. @returns whether a node has taken anything. */
  async #send(view: ChainView): Promise<boolean> {
    const isDue = ({ nonce, takenAt }: Wrapper) =>
      takenAt === undefined || (nonce === view.latest.waiver && view.head - takenAt >= PASSED_OVER_BLOCKS);
    const due = [...this.#entries.values()].flatMap((entry) => {
      const { wrapper } = entry;
      return wrapper && wrapper.nonce >= view.latest.waiver && isDue(wrapper) ? [{ entry, wrapper }] : [];
    });
    due.sort((a, b) => Number(a.wrapper.nonce - b.wrapper.nonce));
    const before = this.#entries.size;
    let hasTaken = false;
    // A refusal leaves a nonce without a wrapper. Those above are placed anew before they are sent.
    while (due.length > 0 && this.#entries.size === before) {
      const sent = due.splice(0, lengthOfWave(due));
      for (const { wrapper } of sent) wrapper.asked++;
      const outcomes = await this.#options.nodes.send(sent.map(({ wrapper }) => wrapper));
      for (const [i, { entry, wrapper }] of sent.entries()) {
        const outcome = outcomes[i];
        if (outcome && entry.wrapper === wrapper)
          hasTaken = this.#judge(entry, wrapper, outcome, view) || hasTaken;
      }
      await this.#storeFailures();
      if (sent.some(({ wrapper }) => wrapper.takenAt === undefined)) break;
    }
    return hasTaken;
  }

  /** Acts on the nodes' answer. @returns whether a node has taken the wrapper for the first time. */
  #judge(entry: Entry, wrapper: Wrapper, outcome: SendOutcome, view: ChainView): boolean {
    const { verdict } = outcome;
    if (verdict.kind === "accepted" || verdict.kind === "already known") {
      const isNew = wrapper.takenAt === undefined;
      if (!isNew && ++wrapper.strikes >= MAX_STRIKES) this.#setAside(entry);
      wrapper.takenAt = view.head;
      entry.trouble = undefined;
      entry.taken.resolve();
      return isNew;
    }
    const failure = failureOf(outcome);
    entry.trouble = failure;
    const isOnly = wrapper.asked === 1 && !outcome.isElsewhere;
    const isElsewhere = outcome.isElsewhere || verdict.kind === "ambiguous";
    if (wasNotReached(outcome) || (NOT_TAKEN.has(verdict.kind) && !isElsewhere)) {
      wrapper.asked--;
      if (verdict.kind === "inner too early" && isOnly) this.#setAside(entry);
    } else if (verdict.kind === "refused" && isOnly) {
      if (entry.openBelow <= view.final.waiver) this.#end(entry, { kind: "failed", failure });
      else {
        wrapper.asked--;
        this.#setAside(entry);
      }
    } else if (SET_ASIDE.has(verdict.kind) && ++wrapper.strikes >= MAX_STRIKES) this.#setAside(entry);
    return false;
  }

  /** Lets another entry have the nonce, where there is another one. */
  #setAside(entry: Entry): void {
    if (this.#entries.size === 1) return;
    entry.withdraw((entry.wrapper?.asked ?? 0) > 0);
    entry.pausedUntil = performance.now() + SET_ASIDE_MS;
  }

  /** Returns the error of a call whose entry the end of the lane leaves open. A later relay carries what the journal has. */
  #unfinished(entry: Entry, cause: unknown): WaiverRelayError {
    const { raw, hash, isJournaled } = entry;
    const message = cause instanceof Error ? cause.message : String(cause);
    const trouble = { reason: "NOT_BROADCAST", message };
    const isKept = isJournaled && this.#options.journal !== undefined;
    if (!isKept && entry.isUnsent(this.#view?.final ?? NOTHING_COUNTED))
      return new WaiverRelayError(trouble, { txHash: hash, cause });
    return WaiverRelayError.inDoubt(raw, hash, trouble);
  }

  /** Ends an entry for its time, if nothing of it can run any more. */
  #giveUp(entry: Entry): void {
    if (!entry.isUnsent(this.#view?.final ?? NOTHING_COUNTED)) return;
    const message = "no node has taken it in time, and it will not be sent any more";
    const failure = entry.trouble ?? { reason: "NOT_BROADCAST", message };
    this.#end(entry, { kind: "failed", failure });
    this.#storeFailures().catch(() => undefined);
  }

  #end(entry: Entry, ending: Ending): void {
    entry.end(ending);
    this.#entries.delete(entry.hash);
    if (ending.kind === "failed") {
      // The later transactions of the sender wait in vain.
      for (const other of this.#entries.values())
        if (other.sender === entry.sender) other.waitingSince = Number.NEGATIVE_INFINITY;
    }
    if (entry.isJournaled) this.#lines.push(ended(entry));
    // A later relay would send what the journal has, so the journal has a failure before anybody hears of it.
    if (entry.isJournaled && ending.kind === "failed") this.#untold.push(entry);
    else entry.tell();
  }

  /** Ends all waits with this error. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    for (const entry of this.#entries.values()) entry.tell();
    this.#wake();
  }
}

/** Counts the wrappers that may be sent together: no two of one sender, since the second hangs on the first. */
function lengthOfWave(due: readonly { readonly entry: Entry }[]): number {
  const senders = new Set<Hex>();
  for (const [i, { entry }] of due.entries()) {
    if (senders.has(entry.sender)) return i;
    senders.add(entry.sender);
  }
  return due.length;
}

const NOTHING_COUNTED: Counts = { waiver: 0n, senders: new Map() };

/** Answers after which the node does not have the wrapper. */
const NOT_TAKEN: ReadonlySet<SendVerdictKind> = new Set([
  "nonce gap",
  "inner too early",
  "inner too late",
  "waiver unusable",
]);

/** Answers that another wrapper under the same nonce may fare better than. */
const SET_ASIDE: ReadonlySet<SendVerdictKind> = new Set(["refused", "disputed"]);

const REASONS: Partial<Record<SendVerdictKind, string>> = {
  "waiver unusable": "WAIVER_NOT_REGISTERED",
  "inner too early": "NONCE_GAP",
  "inner too late": "NONCE_TOO_LOW",
  "not now": "NOT_BROADCAST",
  ambiguous: "NOT_BROADCAST",
};

function failureOf({ verdict }: SendOutcome): Failure {
  const message = "message" in verdict ? verdict.message : `the node answered: ${verdict.kind}`;
  if (verdict.kind === "refused") return { reason: verdict.reason, message, values: verdict.values };
  return { reason: REASONS[verdict.kind] ?? "NODE_REFUSED", message };
}

function nonceGap(missing: bigint): Failure {
  const message = `the sender's transaction with nonce ${missing} is missing`;
  return { reason: "NONCE_GAP", message, values: { missing: missing.toString() } };
}

function reverted(txHash: Hex): Failure {
  return { reason: "REVERTED", message: `the call of ${txHash} has reverted; it is on the chain` };
}

/** Resolves with the promise, or when the time on `performance.now()` is over. */
async function settledBy(promise: Promise<void>, endsAt: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, endsAt - performance.now()));
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
