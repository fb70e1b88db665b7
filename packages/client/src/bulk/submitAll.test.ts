import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KeyPolicy, PolicyLimits } from "@gas-waiver/protocol/wire";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createWaiverClient } from "../createWaiverClient.js";
import { JournalError, RequestRefusedError } from "../errors.js";
import { fileJournal } from "../node.js";
import { batchesOf } from "./batches.js";
import type { Journal } from "./journal.js";
import type { SubmitAllOptions, SubmitAllProgress, SubmitAllTransactions } from "./submitAll.js";

const folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The answer to one transaction: a failure with this reason and advice, or success. */
type Answer = { readonly code?: string; readonly reason: string; readonly retry: string } | undefined;

/** A service that takes transactions, and counts how often it got each. */
class FakeService {
  chainId = 2201;
  genesisHash: string | undefined;
  limits: Partial<PolicyLimits> = {};
  /** Requests, by the number of transactions in each. */
  readonly requests: number[] = [];
  readonly received = new Map<string, number>();
  /** The first readings of the policy that a proxy refuses. */
  policyRefusals = 0;
  open = 0;
  mostOpen = 0;
  answerOf: (transaction: string, time: number) => Answer = () => undefined;
  /** Called before each request is answered; its response goes out in the place of the lines. */
  before: (request: number, count: number) => Response | undefined | Promise<Response | undefined> = () =>
    undefined;

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    init?.signal?.throwIfAborted();
    if (String(input).endsWith("/v1/policy")) {
      return this.policyRefusals-- > 0
        ? new Response("away", { status: 502 })
        : Response.json(this.#policy());
    }
    const { transactions } = JSON.parse(String(init?.body)) as { transactions: string[] };
    this.requests.push(transactions.length);
    this.mostOpen = Math.max(this.mostOpen, ++this.open);
    try {
      const instead = await this.before(this.requests.length, transactions.length);
      init?.signal?.throwIfAborted();
      if (instead) return instead;
      return new Response(transactions.map((one, index) => this.#line(one, index)).join(""));
    } finally {
      this.open--;
    }
  };

  #line(transaction: string, index: number): string {
    const time = (this.received.get(transaction) ?? 0) + 1;
    this.received.set(transaction, time);
    const failure = this.answerOf(transaction, time);
    const id = `id of ${transaction}`;
    const txHash = transaction.padEnd(66, "0");
    const error = failure && {
      ...{
        code: failure.code ?? "VALIDATION_FAILED",
        message: "no",
        reason: failure.reason,
        details: { retry: failure.retry },
      },
    };
    return `${JSON.stringify(error ? { index, id, success: false, error } : { index, id, success: true, txHash })}\n`;
  }

  #policy(): KeyPolicy {
    const most = { ratePerSecond: 1e6, rateBurst: 1e6, maxQueued: 5_000, maxBatchSize: 100 };
    const limits = { ...most, maxBodyBytes: 2 ** 25, maxGasLimit: "10000000", maxDataLength: 130_786 };
    return {
      ...(this.genesisHash && { genesisHash: this.genesisHash }),
      ...{ chainId: this.chainId, marker: "0x", waits: [], allowedTargets: [], waivers: [] },
      limits: { ...limits, ...this.limits },
    };
  }
}

let service: FakeService;
beforeEach(() => {
  service = new FakeService();
});

/** The answer to a request when the key's rate is used up. */
function rateRefusal({ asked, burst }: { asked: number; burst: number }): Response {
  const details = { asked: String(asked), burst, ratePerSecond: 1_000, unit: "transactions", remaining: 0 };
  const error = { code: "RATE_LIMITED", message: "slow", reason: "RATE_EXCEEDED", details };
  return Response.json({ error }, { status: 429 });
}

const transactions = (count: number) =>
  Array.from({ length: count }, (_, i) => `0x${(i + 4_096).toString(16)}`);

function submitAll(all: SubmitAllTransactions, options: SubmitAllOptions = {}) {
  const client = createWaiverClient({ url: "http://127.0.0.1", fetch: service.fetch });
  return client.submitAll(all, { retry: { attempts: 3, minDelayMs: 1 }, ...options });
}

let files = 0;
const freshPath = () => join(folder, `journal-${++files}`);
/** Counts those that the service got more than once. */
const doubled = () => [...service.received.values()].filter((times) => times > 1).length;

describe("submitAll", () => {
  it("splits by the limits of the key, keeps the order, and gives an outcome for each", async () => {
    service.limits = { maxBatchSize: 40, maxQueued: 100 };
    const all = transactions(250);
    const seen: number[] = [];
    const onProgress = ({ succeeded }: { succeeded: number }) => seen.push(succeeded);
    const { total, succeeded, failed, outcomes } = await submitAll(all, { onProgress });
    expect([total, succeeded, failed]).toEqual([250, 250, 0]);
    expect(outcomes.map(({ index, id }) => [index, id])).toEqual(all.map((one, i) => [i, `id of ${one}`]));
    expect([...service.received.keys()]).toEqual(all);
    expect(service.requests).toEqual([40, 40, 40, 40, 40, 40, 10]);
    expect(service.mostOpen).toBeLessThanOrEqual(2);
    expect(seen).toEqual(Array.from({ length: 251 }, (_, i) => i));
    service.limits = { rateBurst: 7 };
    await submitAll(transactions(8));
    expect(service.requests.slice(-2)).toEqual([7, 1]);
    expect((await submitAll([])).outcomes).toEqual([]);
  });

  it("repeats requests that a busy or broken service did not take, and failures that may pass", async () => {
    const busy = { error: { code: "RATE_LIMITED", message: "slow", reason: "RATE_EXCEEDED" } };
    service.before = (request) =>
      request === 1
        ? Response.json(busy, { status: 429 })
        : request === 2
          ? new Response('{"index":0,"id":"a","succ')
          : undefined;
    service.answerOf = (one, time) =>
      one === "0x1003" && time === 1
        ? { reason: "NODE_REFUSED", retry: "later" }
        : one === "0x1005"
          ? { reason: "TARGET_NOT_ALLOWED", retry: "corrected" }
          : undefined;
    const { succeeded, failed, outcomes } = await submitAll(transactions(10));
    expect([succeeded, failed]).toEqual([9, 1]);
    expect(outcomes[5]).toMatchObject({ success: false, error: { reason: "TARGET_NOT_ALLOWED" } });
    expect([service.received.get("0x1003"), service.received.get("0x1005")]).toEqual([2, 1]);
  });

  it("tells that the journal is durable before it sends anything, at each start", async () => {
    const journal = fileJournal(freshPath());
    const all = transactions(3);
    const told: [stored: boolean, requests: number][] = [];
    const onJournaled = async ({ transactions: journaled }: { transactions: readonly string[] }) => {
      const text = await journal.read();
      told.push([journaled.every((one) => text?.includes(one)), service.requests.length]);
    };
    await submitAll(() => all, { journal, onJournaled });
    await submitAll(() => [], { journal, onJournaled });
    expect(told).toEqual([
      [true, 0],
      [true, 1],
    ]);
    await expect(submitAll(all, { onJournaled })).rejects.toThrow("journal");
    const answered = new Error("the page is gone");
    const failing = { journal: fileJournal(freshPath()), onJournaled: () => Promise.reject(answered) };
    await expect(submitAll(all, failing)).rejects.toBe(answered);
    expect(service.requests).toEqual([3]);
  });

  it("asks for the key's limits as often as it sends a request", async () => {
    service.policyRefusals = 4;
    const options = { retry: { attempts: 5, minDelayMs: 1 } };
    expect(await submitAll(transactions(1), options)).toMatchObject({ succeeded: 1 });
    service.policyRefusals = 4;
    await expect(submitAll(transactions(1))).rejects.toMatchObject({ status: 502 });
  });

  it("sends again what the key's rate refuses, however often, also beside another call with the key", async () => {
    service.limits = { ratePerSecond: 2_000, rateBurst: 100 };
    // The process before has used up the burst.
    const key = { tokens: 0, at: performance.now() };
    service.before = (request, asked) => {
      const now = performance.now();
      key.tokens = Math.min(100, key.tokens + (now - key.at) * 2);
      key.at = now;
      if (asked > key.tokens || request <= 8) return rateRefusal({ asked, burst: 100 });
      key.tokens -= asked;
      return undefined;
    };
    const seen: number[] = [];
    const onProgress = ({ rateRefusals }: SubmitAllProgress) => seen.push(rateRefusals);
    const all = transactions(1_000);
    const both = [submitAll(all.slice(0, 500), { onProgress }), submitAll(all.slice(500))];
    const [first, second] = await Promise.all(both);
    expect([first?.succeeded, second?.succeeded, doubled()]).toEqual([500, 500, 0]);
    const refusals = (first?.rateRefusals ?? 0) + (second?.rateRefusals ?? 0);
    expect(service.requests.length).toBe(10 + refusals);
    expect(refusals).toBeGreaterThanOrEqual(8);
    expect(seen).toContain(first?.rateRefusals);
  });

  it("ends while the key's rate is used up if it is aborted, or if the rate would never allow the request", async () => {
    const ending = new AbortController();
    service.before = (request) => {
      if (request === 7) ending.abort(new Error("enough"));
      return rateRefusal({ asked: 1, burst: 1 });
    };
    await expect(submitAll(["0x1000"], { signal: ending.signal })).rejects.toThrow("enough");
    service.before = () => rateRefusal({ asked: 2, burst: 1 });
    const error = await submitAll(transactions(2)).catch((thrown: unknown) => thrown);
    expect([error instanceof RequestRefusedError, service.requests.length]).toEqual([true, 7 + 3]);
  });

  it("names at its end all that may have been accepted, by their positions among all", async () => {
    const all = transactions(300);
    service.limits = { maxQueued: 100 };
    service.before = (request) => {
      if (request !== 3) return undefined;
      const error = { code: "UNAUTHORIZED", message: "the key is revoked", reason: "KEY_REVOKED" };
      return Response.json({ error }, { status: 401 });
    };
    const error: unknown = await submitAll(all).catch((thrown: unknown) => thrown);
    const inDoubt = all.slice(0, 200).map((signed, index) => ({ index, signed }));
    expect(error).toMatchObject({ reason: "KEY_REVOKED", inDoubt });
  });

  it("names at its end also what is under way from an earlier round, and nothing that a line has refused", async () => {
    const [sent, late, early] = transactions(3);
    const answers = new Map([
      [late, { code: "TIMEOUT", reason: "NOT_INCLUDED", retry: "now" }],
      [early, { reason: "NONCE_GAP", retry: "later" }],
    ]);
    service.answerOf = (transaction) => answers.get(transaction);
    const refusal = { error: { code: "UNAUTHORIZED", message: "no", reason: "KEY_REVOKED" } };
    service.before = (request) => (request > 1 ? Response.json(refusal, { status: 401 }) : undefined);
    const error: unknown = await submitAll(transactions(3)).catch((thrown: unknown) => thrown);
    const inDoubt = [sent, late].map((signed, index) => ({ index, signed }));
    expect(error).toMatchObject({ reason: "KEY_REVOKED", inDoubt });
  });

  it("ends at a refusal that no retry mends, with its error", async () => {
    const refusal = { error: { code: "UNAUTHORIZED", message: "no", reason: "KEY_REVOKED" } };
    service.before = (request) => (request > 2 ? Response.json(refusal, { status: 401 }) : undefined);
    const path = freshPath();
    const run = () => submitAll(transactions(1_000), { journal: fileJournal(path) });
    await expect(run()).rejects.toThrow(RequestRefusedError);
    service.before = () => undefined;
    expect(await run()).toMatchObject({ succeeded: 1_000 });
    expect(doubled()).toBe(0);
  });
});

describe("a journal", () => {
  it("has the bytes before anything is sent, and the outcomes of a call that was ended", async () => {
    const path = freshPath();
    const ending = new AbortController();
    const atFirst: string[] = [];
    service.before = (request) => {
      if (request === 1) atFirst.push(readFileSync(path, "utf8"));
      if (request === 4) ending.abort(new Error("Ctrl-C"));
      return undefined;
    };
    let signed = 0;
    const sign = () => {
      signed++;
      return transactions(1_000);
    };
    const journal = fileJournal(path);
    await expect(submitAll(sign, { journal, signal: ending.signal })).rejects.toThrow("Ctrl-C");
    expect(atFirst[0]?.split("\n").slice(1, -1)).toEqual(transactions(1_000).map((one) => `"${one}"`));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    service.before = () => undefined;
    const { succeeded, outcomes } = await submitAll(sign, { journal: fileJournal(path) });
    expect([signed, succeeded, outcomes.length]).toEqual([1, 1_000, 1_000]);
    // Those of the requests that were open at the end may be sent again, and are the same submissions.
    expect(doubled()).toBeLessThanOrEqual(400);
    const requests = service.requests.length;
    expect(await submitAll(sign, { journal: fileJournal(path) })).toMatchObject({ succeeded: 1_000 });
    expect(service.requests).toHaveLength(requests);
  });

  it("that cannot be read or written is named, and nothing is sent", async () => {
    for (const path of [folder, join(folder, "missing", "journal")]) {
      const error = await submitAll(transactions(1), { journal: fileJournal(path) }).catch(
        (thrown) => thrown,
      );
      expect(error).toBeInstanceOf(JournalError);
      expect(error.message).toContain(path);
    }
    expect(service.requests).toEqual([]);
  });

  it("that two programs begin at the same time is of the first, and the second sends nothing", async () => {
    const path = freshPath();
    let finishSigning: (signed: readonly string[]) => void = () => undefined;
    let second: Promise<unknown> = Promise.resolve();
    // It has found no journal, and signs until the other has paid: with the next nonces.
    await new Promise<void>((signing) => {
      const sign = () => {
        signing();
        return new Promise<readonly string[]>((resolve) => (finishSigning = resolve));
      };
      second = submitAll(sign, { journal: fileJournal(path) });
    });
    expect(await submitAll(transactions(3), { journal: fileJournal(path) })).toMatchObject({ succeeded: 3 });
    const written = readFileSync(path, "utf8");
    finishSigning(["0x2000", "0x2001", "0x2002"]);
    await expect(second).rejects.toMatchObject({ name: "JournalError", inDoubt: [] });
    expect([...service.received.keys()]).toEqual(transactions(3));
    expect(readFileSync(path, "utf8")).toBe(written);
    expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
  });

  it("that another program has begun anew is not written any more, also where its file has the inode of this one's", async () => {
    const path = freshPath();
    const journal = fileJournal(path);
    await journal.begin('{"opened":1}\n');
    await journal.append("one\n");
    writeFileSync(path, '{"opened":2}\n');
    await expect(journal.append("two\n")).rejects.toMatchObject({ name: "JournalError" });
    expect(readFileSync(path, "utf8")).toBe('{"opened":2}\n');
  });

  it("that a crash has cut anywhere in its outcomes goes on, and loses no transaction", async () => {
    const path = freshPath();
    const all = transactions(5);
    await submitAll(all, { journal: fileJournal(path) });
    const whole = readFileSync(path);
    const head = whole.indexOf('{"index"');
    for (let end = head; end < whole.length; end += 13) {
      writeFileSync(path, whole.subarray(0, end));
      expect(await submitAll(all, { journal: fileJournal(path) })).toMatchObject({ succeeded: 5, failed: 0 });
      service.received.clear();
      // The journal is whole again: nothing is left to send.
      await submitAll(all, { journal: fileJournal(path) });
      expect(service.received.size).toBe(0);
    }
  });

  it("keeps no failure that may pass later, so that the next call tries it", async () => {
    const memory: { text?: string } = {};
    const journal: Journal = {
      read: async () => memory.text,
      begin: async (text) => void Object.assign(memory, { text }),
      append: async (lines) => void Object.assign(memory, { text: memory.text + lines }),
    };
    service.before = async () => undefined;
    service.answerOf = (one) => (one === "0x1000" ? { reason: "CAP_EXCEEDED", retry: "later" } : undefined);
    const ending = new AbortController();
    service.before = (request) => {
      if (request === 2) ending.abort(new Error("enough"));
      return undefined;
    };
    await expect(submitAll(transactions(2), { journal, signal: ending.signal })).rejects.toThrow("enough");
    expect(memory.text).not.toContain("CAP_EXCEEDED");
    service.before = () => undefined;
    service.answerOf = () => undefined;
    expect(await submitAll(transactions(2), { journal })).toMatchObject({ succeeded: 2 });
  });

  it("of other transactions, of another chain, or with damaged bytes is refused before anything is sent", async () => {
    const path = freshPath();
    await submitAll(transactions(3), { journal: fileJournal(path) });
    const before = readFileSync(path, "utf8");
    const refused = async (all: SubmitAllTransactions, message: RegExp) => {
      const sent = service.requests.length;
      const error = await submitAll(all, { journal: fileJournal(path) }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(JournalError);
      expect((error as Error).message).toMatch(message);
      expect(service.requests).toHaveLength(sent);
    };
    await refused(transactions(4), /3 other transaction/);
    await refused([...transactions(2), "0x1f"], /3 other transaction/);
    service.chainId = 988;
    await refused(() => transactions(3), /of chain 2201, and the service of chain 988/);
    service.chainId = 2201;
    for (const [text, message] of [
      [before.replace('"0x1001"', '"0x1009"'), /damaged/],
      [before.replace('"0x1001"\n', ""), /damaged/],
      [before.replace('"version":1', '"version":2'), /version 2/],
      ["my diary\n", /not a journal/],
      ["", /not a journal/],
    ] as const) {
      writeFileSync(path, text);
      await refused(transactions(3), message);
      expect(readFileSync(path, "utf8")).toBe(text);
    }
  });

  it("of a chain that has the same id and another first block is refused, where the service told both", async () => {
    const path = freshPath();
    const [first, other] = ["11", "22"].map((byte) => `0x${byte.repeat(32)}`);
    const again = () => submitAll(() => transactions(3), { journal: fileJournal(path) });
    service.genesisHash = first;
    await again();
    service.genesisHash = other;
    const error = await again().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(JournalError);
    expect((error as Error).message).toContain(`first block is ${first}, and not ${other}`);
    // Nodes may prune their first block.
    service.genesisHash = undefined;
    expect(await again()).toMatchObject({ succeeded: 3 });
  });

  it("that cannot be written ends the call with its error", async () => {
    const journal: Journal = {
      ...{ read: async () => undefined, begin: async () => undefined },
      append: () => Promise.reject(new Error("the disk is full")),
    };
    await expect(submitAll(transactions(300), { journal })).rejects.toThrow("the disk is full");
  });
});

describe("the parts of submitAll", () => {
  it("split by bytes too, and let one that is too large go alone", () => {
    const texts = ["0x11", `0x${"22".repeat(150)}`, "0x33", "0x44"];
    const bounds = { maxTransactions: 2, maxBytes: 200 };
    expect(batchesOf([0, 1, 2, 3], texts, bounds)).toEqual([[0], [1], [2, 3]]);
    expect(batchesOf([3, 2, 0], texts, bounds)).toEqual([[3, 2], [0]]);
  });
});
