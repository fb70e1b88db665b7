import type { Hex } from "@gas-waiver/protocol";
import type { Block } from "../chain/block.js";

/**
 * The executions that a chain has lost for good: their final blocks were taken away. The service knows them as included,
 * and the later nonces of their senders wait for them in vain.
 */
export class ChainLoss {
  readonly #executions = new Set<Hex>();
  readonly #senders = new Set<Hex>();
  readonly #nonces = new Set<string>();
  readonly #reorgDepth: number;

  constructor(reorgDepth: number) {
    this.#reorgDepth = reorgDepth;
  }

  /** @param removed the blocks that were taken away, the newest first. */
  onRemoved(removed: readonly Block[]): void {
    const [head] = removed;
    if (head === undefined) return;
    const final = removed.filter(({ number }) => head.number - number >= this.#reorgDepth);
    for (const { innerHash, sender, waiver, nonce } of final.flatMap(({ wrappers }) => wrappers)) {
      this.#executions.add(innerHash);
      this.#senders.add(sender);
      this.#nonces.add(`${waiver} ${nonce}`);
    }
  }

  hasExecution(innerHash: Hex): boolean {
    return this.#executions.has(innerHash);
  }

  /** Whether a final block that is lost had used the waiver's nonce: a proof that held when it was found. */
  hasNonce(waiver: Hex, nonce: bigint): boolean {
    return this.#nonces.has(`${waiver} ${nonce}`);
  }

  /** Whether nonces of the sender may be lost. */
  hasSender(sender: Hex): boolean {
    return this.#senders.has(sender);
  }
}
