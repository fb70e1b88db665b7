// Any pattern of lost, late and doubled requests and answers, drawn from a seed and run in virtual time, against a service that
// keeps D16 to D20: an application that goes on with what each error gives it pays once.
import {
  codeOf,
  encodeResultLine,
  ProtocolError,
  type Reason,
  type ResultLine,
  requestErrorBody,
  statusOf,
} from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { SeededRandom } from "../../../../test/support/seededRandom.js";
import { inVirtualTime } from "../../../../test/support/virtualTime.js";
import { WaiverClientError } from "../errors.js";
import { Gasless } from "./gasless.js";
import type { GaslessSender } from "./gaslessCall.js";

/** ONE_PAYMENT_SEEDS=10000 runs more seeds, and ONE_PAYMENT_FIRST=77 others. */
const SEEDS = Number(process.env.ONE_PAYMENT_SEEDS ?? 300);
const FIRST = Number(process.env.ONE_PAYMENT_FIRST ?? 1);
const PAYMENTS = 3;
const NONCE_GAP_MS = 10_000;
/** The pause between two looks of the service at the chain, in ms. */
const POLL_MS = 2_000;
/** The time after which no request is on its way, in ms. */
const REST_MS = 200_000;
const ID = "01890000-0000-7000-8000-000000000000";

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const failure = (reason: Reason, details: object = {}): ResultLine => ({
  ...{ index: 0, id: ID, success: false },
  error: { code: codeOf(reason), message: reason, reason, details } as never,
});
const refusal = (reason: Reason) =>
  Response.json(requestErrorBody(new ProtocolError(reason, "")), { status: statusOf(reason) });

const nonceOf = (bytes: string) => Number(bytes.split(":")[0]);

/** Reasons for which the service refuses a whole request, sometimes after it has stored it. */
const REFUSALS = ["RATE_EXCEEDED", "QUEUE_AT_CAPACITY", "STORE_UNAVAILABLE", "INTERNAL_ERROR"] as const;

/** A service, its chain, and the network in front of it. Signed bytes are `nonce:payment:salt`. */
class World {
  readonly #random: SeededRandom;
  /** Shares of requests that meet a misfortune, of the network and of the service. */
  readonly #badness: number;
  count = 0;
  readonly paid: string[] = [];
  /** The bytes that hold a nonce which the chain has not counted. */
  readonly #pending = new Map<number, string>();
  /** The bytes that a node of the chain has, or that are in a block. */
  readonly #sent = new Set<string>();
  /** The final failures, by the bytes. */
  readonly #failed = new Map<string, Reason>();
  salt = 0;

  constructor(seed: number) {
    this.#random = new SeededRandom("one payment", seed);
    this.#badness = this.#random.next() * 0.8;
  }

  begin(): void {
    if (this.#random.chance(0.3)) void this.#compete();
  }

  /** Another program with the same sender. */
  async #compete(): Promise<void> {
    for (let i = 0; i < 2; i++) {
      await wait(this.#random.next() * 3_000);
      if (!this.#pending.has(this.count)) this.count++;
    }
  }

  readonly fetch: typeof globalThis.fetch = async (_, init) => {
    const [bytes = ""] = JSON.parse(String(init?.body)).transactions as string[];
    const { signal } = init ?? {};
    const answer = this.#carry(bytes);
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    return await Promise.race([answer, aborted]);
  };

  async #carry(bytes: string): Promise<Response> {
    const random = this.#random;
    await wait(random.next() * 20);
    if (!random.chance(this.#badness)) return await this.#receive(bytes);
    const late = () => random.next() * 60_000;
    const later = (ms: number) => wait(ms).then(() => this.#receive(bytes));
    switch (random.pick(["lost", "late", "answer lost", "answer late", "doubled", "proxy", "stranger"])) {
      case "lost":
        throw new TypeError("fetch failed");
      case "late":
        void later(late());
        return new Response("gateway timeout", { status: 504 });
      case "answer lost":
        await this.#receive(bytes);
        throw new TypeError("fetch failed");
      case "answer late": {
        const answer = await this.#receive(bytes);
        await wait(late());
        return answer;
      }
      case "doubled": {
        const answer = await this.#receive(bytes);
        // A copy that comes after a refusal is a request of its own to the service (D18), and no client can tell.
        if (this.#sent.has(bytes) || this.#pending.get(nonceOf(bytes)) === bytes) void later(late());
        return answer;
      }
      case "proxy":
        if (random.chance(0.5)) void later(late());
        return new Response("bad gateway", { status: random.pick([502, 503, 403]) });
      default:
        return new Response("<html></html>");
    }
  }

  async #receive(bytes: string): Promise<Response> {
    const random = this.#random;
    const isBad = random.chance(this.#badness / 4);
    if (isBad && random.chance(0.5)) return refusal(random.pick(REFUSALS.slice(0, 2)));
    const line = await this.#submit(bytes);
    if (isBad) return refusal(random.pick(REFUSALS.slice(2)));
    return new Response(`${encodeResultLine(line)}\n`);
  }

  /** The outcome of a submission (D16, D18, D20). */
  async #submit(bytes: string): Promise<ResultLine> {
    const random = this.#random;
    const nonce = nonceOf(bytes);
    if (!this.#sent.has(bytes) && this.#pending.get(nonce) !== bytes) {
      if (nonce < this.count)
        return failure("NONCE_TOO_LOW", random.chance(0.5) ? { usedBy: `0x${"cd".repeat(32)}` } : {});
      if (this.#pending.has(nonce)) return failure("NONCE_CONFLICT");
      if (random.chance(this.#badness / 8)) return failure("NODE_REFUSED");
      this.#pending.set(nonce, bytes);
      this.#failed.delete(bytes);
      void this.#execute(nonce, bytes);
    }
    for (;;) {
      if (this.#sent.has(bytes)) return { index: 0, id: ID, success: true, txHash: `0x${"ab".repeat(32)}` };
      const failed = this.#failed.get(bytes);
      if (failed) return failure(failed);
      // Only the waiting ends (D17).
      if (random.chance(this.#badness / 30)) return failure("NOT_BROADCAST");
      await wait(POLL_MS);
    }
  }

  /** Sends a transaction when its turn comes, and executes it in a block. */
  async #execute(nonce: number, bytes: string): Promise<void> {
    const endsAt = performance.now() + NONCE_GAP_MS;
    while (this.count < nonce && performance.now() < endsAt) await wait(this.#random.next() * 1_000);
    if (this.count === nonce) {
      this.#sent.add(bytes);
      await wait(this.#random.next() * 1_000);
      this.count++;
      this.paid.push(bytes.split(":")[1] ?? "");
    } else this.#failed.set(bytes, this.count < nonce ? "NONCE_GAP" : "NONCE_TOO_LOW");
    this.#pending.delete(nonce);
  }
}

/** Pays, and goes on with the bytes of an error while it has any. */
async function insist(gasless: Gasless, sender: GaslessSender, data: string): Promise<void> {
  let bytes: string | undefined;
  for (;;) {
    try {
      if (bytes === undefined) await gasless.send(sender, { to: "0xBB", data, value: 0n, gas: 1n });
      else await gasless.submitSigned(bytes);
      return;
    } catch (error) {
      if (!(error instanceof WaiverClientError)) throw error;
      bytes = error.inDoubt[0]?.signed;
      await wait(100);
    }
  }
}

async function run(seed: number): Promise<string[]> {
  const world = new World(seed);
  const random = new SeededRandom("application", seed);
  const options = {
    timeoutMs: 500 + random.next() * 30_000,
    retry: { attempts: 1 + Math.floor(random.next() * 3) },
  };
  const gasless = new Gasless({ url: "http://service", fetch: world.fetch, ...options }, (bytes) => bytes);
  const sender: GaslessSender = {
    address: "0xAA",
    chainId: async () => 2201,
    transactionCount: async () => world.count,
    estimateGas: async () => 1n,
    transactionOf: async () => null,
    sign: async ({ nonce, data }) => `${nonce}:${data}:${world.salt++}`,
  };
  const isTogether = random.chance(0.5);
  const names = Array.from({ length: PAYMENTS }, (_, i) => `payment ${i}`);
  // Late requests arrive after the last payment, and the chain comes to rest.
  await inVirtualTime(async () => {
    world.begin();
    if (isTogether) await Promise.all(names.map((name) => insist(gasless, sender, name)));
    else for (const name of names) await insist(gasless, sender, name);
  }, REST_MS);
  return world.paid.sort();
}

it(`pays each of ${PAYMENTS} once, with ${SEEDS} patterns of misfortunes`, async () => {
  const once = Array.from({ length: PAYMENTS }, (_, i) => `payment ${i}`);
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) expect(await run(seed), `seed ${seed}`).toEqual(once);
}, 3_000_000);
