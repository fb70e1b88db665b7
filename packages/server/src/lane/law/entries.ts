import { bytesToHex } from "@gas-waiver/protocol";
import { forgetOldest } from "../../util/forgetOldest.js";

/** For this long, nodes may contradict each other, in ms: behind one address, another may answer. */
export const PATIENCE_MS = 5_000;

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

type Signed = { readonly id: string; readonly wrapperHash?: Uint8Array | undefined };

/** The signs of the present wrapper of a submission. */
interface Signs {
  /** The wrapper's hash in hex; empty for a queued submission. */
  readonly wrapper: string;
  /** The times at which nodes showed these first, in ms of the lane's clock. */
  readonly since: Partial<Record<Sign, number>>;
}

/**
 * The signs of one lane's submissions that this process remembers. The store has everything that safety needs: what is lost here
 * costs time.
 * @param now a monotonic clock in ms.
 */
export class Entries {
  readonly #signs = new Map<string, Signs>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
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
