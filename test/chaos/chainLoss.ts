import type { Hex } from "@gas-waiver/protocol";
import type { Execution } from "./devnetClient.js";

/**
 * The executions that a restored chain has lost. Those in final blocks are lost for good: the store knows them as included.
 * Their senders' later transactions can never run, because the chain waits for the lost nonces.
 */
export class ChainLoss {
  readonly #final = new Set<Hex>();
  readonly #lowestNonce = new Map<Hex, number>();

  /** Adds executions whose blocks were final. */
  add(executions: readonly Execution[]): void {
    for (const { innerHash, sender, senderNonce } of executions) {
      this.#final.add(innerHash);
      const lowest = this.#lowestNonce.get(sender) ?? Number.POSITIVE_INFINITY;
      this.#lowestNonce.set(sender, Math.min(lowest, senderNonce));
    }
  }

  /** The number of lost executions. */
  get size(): number {
    return this.#final.size;
  }

  /** True if this InnerTx ran in a final block that the chain has lost. */
  hasExecution(innerHash: Hex): boolean {
    return this.#final.has(innerHash);
  }

  /** True if the chain has lost this nonce of the sender, or an earlier one, from a final block. */
  hasBroken(sender: Hex, nonce: number): boolean {
    return nonce >= (this.#lowestNonce.get(sender) ?? Number.POSITIVE_INFINITY);
  }
}
