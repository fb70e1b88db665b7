import {
  bytesToHex,
  type ErrorValues,
  type Hex,
  type InnerTx,
  type ValidInnerTx,
} from "@gas-waiver/protocol";

/** The nonces that the chain has counted at one block. */
export interface Counts {
  /** The waiver's next nonce. */
  readonly waiver: bigint;
  readonly senders: ReadonlyMap<Hex, bigint>;
}

/** The end of an InnerTx: in a final block, or never. */
export type Ending =
  | { readonly kind: "included"; readonly reverted: boolean }
  | { readonly kind: "failed"; readonly failure: Failure };

export interface Failure {
  readonly reason: string;
  readonly message: string;
  readonly values?: ErrorValues | undefined;
}

/** The signed bytes that carry an InnerTx under one of the waiver's nonces. */
export interface Wrapper {
  readonly nonce: bigint;
  readonly raw: Hex;
  readonly hash: Hex;
  /** The requests with these bytes that may have reached a node. */
  asked: number;
  /** The answers, in a row, that neither took nor refused them for good. */
  strikes: number;
  /** The latest block at which a node is known to have them. */
  takenAt?: number;
}

/**
 * An InnerTx that is under way, and its wrapper. It may have had earlier wrappers: those may still land while their nonces are
 * unused, and the InnerTx runs once all the same, by its sender's nonce.
 */
export class Entry {
  readonly raw: Hex;
  readonly inner: InnerTx;
  readonly hash: Hex;
  readonly sender: Hex;
  /** The payment's name. */
  readonly key: string | undefined;
  /** The blocks up to this one do not have the InnerTx; undefined until a round has seen it. */
  searched: number | undefined;
  wrapper: Wrapper | undefined;
  /** Earlier wrappers of it have nonces below this one. */
  openBelow = 0n;
  /** Whether the journal has it. */
  isJournaled = false;
  /** The time on `performance.now()` before which it gets no new wrapper. */
  pausedUntil = 0;
  /** The time on `performance.now()` since which its sender's earlier nonce may be missing. */
  waitingSince = performance.now();
  /** The latest reason for which no node has taken it. */
  trouble: Failure | undefined;
  /** Resolves once a node has it, or it has ended. */
  readonly taken: Deferred = new Deferred();
  readonly ended: Deferred = new Deferred();
  ending: Ending | undefined;

  constructor({ tx, hash, sender }: Pick<ValidInnerTx, "tx" | "hash" | "sender">, key?: string) {
    this.inner = tx;
    this.raw = bytesToHex(tx.raw);
    this.hash = bytesToHex(hash);
    this.sender = bytesToHex(sender);
    this.key = key;
  }

  /** Takes the wrapper's nonce from it. @param mayLand whether a node may have the wrapper. */
  withdraw(mayLand: boolean): void {
    const { wrapper } = this;
    if (wrapper === undefined) return;
    if (mayLand && wrapper.nonce >= this.openBelow) this.openBelow = wrapper.nonce + 1n;
    this.wrapper = undefined;
  }

  /** Whether it has not run, and no wrapper of it can land any more. @param final the counts in the latest final block. */
  isUnsent({ waiver, senders }: Counts): boolean {
    const hasRun = (senders.get(this.sender) ?? 0n) > this.inner.nonce;
    return !hasRun && (this.wrapper === undefined || this.wrapper.asked === 0) && this.openBelow <= waiver;
  }

  end(ending: Ending): void {
    this.ending = ending;
    this.wrapper = undefined;
  }

  /** Ends the waits for it. */
  tell(): void {
    this.taken.resolve();
    this.ended.resolve();
  }
}

/** A promise and the function that resolves it. */
export class Deferred {
  resolve: () => void = () => undefined;
  readonly promise: Promise<void>;
  isResolved = false;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.resolve = () => {
        this.isResolved = true;
        resolve();
      };
    });
  }
}
