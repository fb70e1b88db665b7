import { bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/queue/unfinished.js";

/** For this long, nodes may contradict each other, in ms: behind one address, another may answer. */
export const PATIENCE_MS = 5_000;
/** More submissions than a lane usually has in flight and in its queue at a time. */
const MOST = 10_000;

/** A wrapper that a node has taken. The hash names the bytes, since a submission may be signed anew later. */
export type TakenWrapper = Pick<InFlightSubmission, "id" | "wrapperHash" | "origin">;

/** Something that nodes have shown of a submission under its present wrapper. */
export type Sign =
  /** A block has the wrapper or the InnerTx, and no node has the receipt. */
  | "no receipt"
  /** There is a receipt, and its block is not shown. */
  | "no block"
  /** A block has the wrapper without its InnerTx. */
  | "plain"
  /** A node knows the wrapper, and does not show it. */
  | "absent"
  /** Nodes hold another wrapper under its nonce. */
  | "held"
  /** It cannot land or run where it stands. */
  | "stuck";

/** A lane's memory of one submission. The store has everything that safety needs: what is lost here costs time. */
interface Entry {
  /** The hash in hex of the wrapper that the signs are of; empty for a queued submission. */
  readonly wrapper: string;
  /** The times at which nodes showed these first, in ms of the lane's clock. */
  readonly signs: Partial<Record<Sign, number>>;
  /** A node has the wrapper, and the store may not know it yet; times in ms of a monotonic clock. */
  readonly taken?:
    | (TakenWrapper & { readonly held: HeldLane; readonly takenAt: number; readonly dueAt: number })
    | undefined;
  /** The lane has set it aside, and no node has taken a wrapper of it since. */
  readonly retry?:
    | { readonly isSuspect: boolean; readonly wakings: number; readonly wokenAt: number }
    | undefined;
}

type Part = "taken" | "retry";
export type PartOf<P extends Part> = NonNullable<Entry[P]>;
type Signed = { readonly id: string; readonly wrapperHash?: Uint8Array | undefined };

/** The submissions of one lane of which this process remembers something. @param now a monotonic clock in ms. */
export class Entries {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get<P extends Part>(id: string, part: P): Entry[P] {
    return this.#entries.get(id)?.[part];
  }

  set<P extends Part>(id: string, part: P, value: Entry[P]): void {
    const entry = this.#entries.get(id);
    if (entry || value) this.#put(id, { wrapper: "", signs: {}, ...entry, [part]: value });
  }

  /** Returns all that have this part. */
  having<P extends Part>(part: P): (readonly [id: string, PartOf<P>])[] {
    return [...this.#entries].flatMap(([id, { [part]: value }]) => (value ? [[id, value as PartOf<P>]] : []));
  }

  /** Whether nodes show this of the wrapper for the first time. */
  isFirst(submission: Signed, sign: Sign): boolean {
    return this.#since(submission, sign) === undefined;
  }

  /** Whether nodes showed this of the wrapper for the first time {@link PATIENCE_MS} ago. */
  isLasting(submission: Signed, sign: Sign): boolean {
    return (this.#since(submission, sign) ?? 0) >= PATIENCE_MS;
  }

  /** Makes the next time that nodes show this the first again. */
  forget({ id }: Signed, sign: Sign): void {
    const entry = this.#entries.get(id);
    if (entry) this.#put(id, { ...entry, signs: { ...entry.signs, [sign]: undefined } });
  }

  #since({ id, wrapperHash }: Signed, sign: Sign): number | undefined {
    const wrapper = wrapperHash ? bytesToHex(wrapperHash) : "";
    const entry = this.#entries.get(id);
    const signs = entry?.wrapper === wrapper ? entry.signs : {};
    const at = signs[sign];
    if (at !== undefined) return this.#now() - at;
    this.#put(id, { ...entry, wrapper, signs: { ...signs, [sign]: this.#now() } });
    return undefined;
  }

  /** Keeps no entry without content. Beyond {@link MOST}, the oldest goes of those whose wrappers the store knows. */
  #put(id: string, entry: Entry): void {
    const isEmpty = !entry.taken && !entry.retry && Object.keys(entry.signs).length === 0;
    this.#entries.delete(id);
    if (!isEmpty) this.#entries.set(id, entry);
    if (this.#entries.size <= MOST) return;
    for (const [oldest, { taken }] of this.#entries) if (!taken) return void this.#entries.delete(oldest);
  }
}
