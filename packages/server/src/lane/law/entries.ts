import { bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import { forgetOldest } from "../../util/forgetOldest.js";

/** For this long, nodes may contradict each other, in ms: behind one address, another may answer. */
export const PATIENCE_MS = 5_000;

/** A wrapper that a node has taken. The hash names the bytes, since a submission may be signed anew later. */
export type TakenWrapper = Pick<InFlightSubmission, "id" | "wrapperHash" | "origin">;

/** Something that nodes have shown of a submission under its present wrapper. */
export type Sign =
  /** A block has the wrapper or the InnerTx, and no node has the receipt. */
  | "no receipt"
  /** There is a receipt, and its block is not shown. */
  | "no block"
  /** It was never sent, and its sender's nonce is past. */
  | "past"
  /** A block has the wrapper without its InnerTx. */
  | "plain"
  /** A node knows the wrapper, and does not show it. */
  | "absent"
  /** Nodes hold another wrapper under its nonce. */
  | "held"
  /** It cannot land or run where it stands. */
  | "stuck";

/** A lane's memory of a submission beside the signs. The store has everything that safety needs: what is lost here costs time. */
interface Parts {
  /** A node has the wrapper, and the store may not know it yet; times in ms of a monotonic clock. */
  readonly taken: TakenWrapper & {
    readonly held: HeldLane;
    readonly takenAt: number;
    readonly dueAt: number;
  };
  /** The lane has set it aside, and no node has taken a wrapper of it since. */
  readonly retry: { readonly isSuspect: boolean; readonly wakings: number; readonly wokenAt: number };
}

export type PartOf<P extends keyof Parts> = Parts[P];
type Signed = { readonly id: string; readonly wrapperHash?: Uint8Array | undefined };

/** The signs of the present wrapper of a submission. */
interface Signs {
  /** The wrapper's hash in hex; empty for a queued submission. */
  readonly wrapper: string;
  /** The times at which nodes showed these first, in ms of the lane's clock. */
  readonly since: Partial<Record<Sign, number>>;
}

/**
 * The submissions of one lane of which this process remembers something. Each part has a map of its own: each write of broadcasts, and
 * each record that a client reads, goes through all of one part.
 * @param now a monotonic clock in ms.
 */
export class Entries {
  readonly #signs = new Map<string, Signs>();
  readonly #parts: { readonly [P in keyof Parts]: Map<string, Parts[P]> } = {
    taken: new Map(),
    retry: new Map(),
  };
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get<P extends keyof Parts>(id: string, part: P): Parts[P] | undefined {
    return this.#parts[part].get(id);
  }

  set<P extends keyof Parts>(id: string, part: P, value: Parts[P] | undefined): void {
    const all = this.#parts[part];
    all.delete(id);
    if (value) all.set(id, value);
    forgetOldest(this.#parts.retry);
  }

  /** Returns all that have this part. */
  having<P extends keyof Parts>(part: P): (readonly [id: string, Parts[P]])[] {
    return [...this.#parts[part]];
  }

  /** Whether nodes show this of the wrapper for the first time. */
  isFirst(submission: Signed, sign: Sign): boolean {
    return this.#since(submission, sign) === undefined;
  }

  /** Whether nodes showed this of the wrapper for the first time {@link PATIENCE_MS} ago. */
  isLasting(submission: Signed, sign: Sign): boolean {
    return (this.#since(submission, sign) ?? 0) >= PATIENCE_MS;
  }

  /** Makes the next time that nodes show this the first again, or any sign. */
  forget({ id }: Pick<Signed, "id">, sign?: Sign): void {
    const signs = this.#signs.get(id);
    if (sign === undefined) this.#signs.delete(id);
    else if (signs) this.#signs.set(id, { ...signs, since: { ...signs.since, [sign]: undefined } });
  }

  #since({ id, wrapperHash }: Signed, sign: Sign): number | undefined {
    const wrapper = wrapperHash ? bytesToHex(wrapperHash) : "";
    const known = this.#signs.get(id);
    const since = known?.wrapper === wrapper ? known.since : {};
    const at = since[sign];
    if (at !== undefined) return this.#now() - at;
    this.#signs.delete(id);
    this.#signs.set(id, { wrapper, since: { ...since, [sign]: this.#now() } });
    forgetOldest(this.#signs);
    return undefined;
  }
}
