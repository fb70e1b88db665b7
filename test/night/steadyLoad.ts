import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "@gas-waiver/protocol";
import { type Answers, type SendTarget, send, type Tx } from "../chaos/client.js";
import { signOne, type User, usersOf } from "../chaos/load.js";
import { SeededRandom } from "../support/seededRandom.js";

const USERS = 400;

/** Clients that each send one transaction after the other, and repeat a request until they know what became of it. */
export class SteadyLoad {
  readonly txs = new Map<Hex, Tx>();
  readonly answers: Answers = {};
  readonly #target: SendTarget;
  readonly #random: SeededRandom;
  readonly #idle: { readonly user: User; nonce: number }[];
  /** The transactions without a final line, with the times of their first requests. */
  readonly #open = new Map<Tx, number>();
  readonly #ticks: NodeJS.Timeout;
  #isOver = false;

  constructor(target: SendTarget, { rate, seed }: { readonly rate: number; readonly seed: number }) {
    this.#target = target;
    this.#random = new SeededRandom(seed, "load");
    this.#idle = usersOf(seed, USERS).map((user) => ({ user, nonce: 0 }));
    this.#ticks = setInterval(() => void this.#carryNext(), 1_000 / rate);
  }

  /** True if every transaction that was first sent before this time has its final line. */
  isSettledBefore(time: number): boolean {
    return [...this.#open.values()].every((since) => since >= time);
  }

  /** Sends nothing new. */
  stop(): void {
    clearInterval(this.#ticks);
  }

  /** Lets the clients go. @returns the transactions that have no final line. */
  end(): Tx[] {
    this.stop();
    this.#isOver = true;
    return [...this.#open.keys()];
  }

  async #carryNext(): Promise<void> {
    const client = this.#idle.shift();
    if (client === undefined) return;
    const tx = signOne(client.user, client.nonce, this.#random);
    this.txs.set(tx.hash, tx);
    this.#open.set(tx, performance.now());
    while (!isSettled(tx) && !this.#isOver) {
      await send(this.#target, this.#random, [tx], { wait: "included", answers: this.answers });
      if (!isSettled(tx)) await sleep(this.#random.between(500, 2_000));
    }
    if (!isSettled(tx)) return;
    this.#open.delete(tx);
    client.nonce++;
    this.#idle.push(client);
  }
}

function isSettled({ received }: Tx): boolean {
  return received.some(({ line }) => line.success || line.error.reason === "REVERTED");
}
