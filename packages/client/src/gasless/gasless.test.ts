import {
  codeOf,
  encodeResultLine,
  ProtocolError,
  type Reason,
  type ResultLine,
  requestErrorBody,
  statusOf,
} from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { Gasless } from "./gasless.js";
import type { GaslessCall, GaslessSender, PaidCall } from "./gaslessCall.js";

const TX_HASH = `0x${"ab".repeat(32)}`;
const ID = "01890000-0000-7000-8000-000000000000";

const success: ResultLine = { index: 0, id: ID, success: true, txHash: TX_HASH };
const failure = (reason: Reason): ResultLine => ({
  ...{ index: 0, id: ID, success: false },
  error: { code: codeOf(reason), message: reason, reason, details: { retry: "corrected" } } as never,
});

const AT_ONCE = { attempts: 1, minDelayMs: 0 };
const refusal = (reason: Reason) =>
  Response.json(requestErrorBody(new ProtocolError(reason, "")), { status: statusOf(reason) });

/** The service's answers to each nonce, in turn. Success when none is left. */
let answers: Map<number, (ResultLine | Response | Error)[]>;
/** The nonces that were submitted, in order. */
let submitted: number[];
let signed: { nonce: number; gas: bigint; chainId: number }[];
/** The transaction count that the chain tells. */
let counted: number;
/** The estimates of calls, by their data; 100,000 by default. */
let estimates: Map<string, Promise<bigint>>;
/** The transactions that the node has, by their hashes. */
let onChain: Map<string, PaidCall>;
/** The idempotency keys that were sent. */
let keys: string[];
let gasless: Gasless;

beforeEach(() => {
  answers = new Map();
  submitted = [];
  signed = [];
  keys = [];
  onChain = new Map();
  counted = 0;
  estimates = new Map();
  gasless = new Gasless({ url: "http://service", fetch }, (bytes) => `hash of ${bytes}`);
});

const fetch: typeof globalThis.fetch = async (_, init) => {
  const [nonce = -1] = (JSON.parse(String(init?.body)).transactions as string[]).map(Number);
  submitted.push(nonce);
  const key = new Headers(init?.headers).get("idempotency-key");
  if (key !== null) keys.push(key);
  const answer = answers.get(nonce)?.shift() ?? success;
  if (answer instanceof Error) throw answer;
  return answer instanceof Response ? answer : new Response(`${encodeResultLine(answer)}\n`);
};

const senderOf = (address = "0xAA"): GaslessSender => ({
  address,
  chainId: async () => 2201,
  transactionCount: async () => counted,
  estimateGas: ({ data }) => estimates.get(data) ?? Promise.resolve(100_000n),
  transactionOf: async (hash) => onChain.get(hash) ?? null,
  sign: async ({ nonce, gas, chainId }) => {
    signed.push({ nonce, gas, chainId });
    return String(nonce);
  },
});

const send = (call: Partial<GaslessCall> = {}, sender = senderOf()) =>
  gasless.send(sender, { to: "0xBB", data: "0x", value: 0n, ...call });
const settled = (...sends: Promise<unknown>[]) =>
  Promise.all(sends.map((one) => one.catch((error: Error) => error.message)));

describe("a gasless call", () => {
  it("is signed for the chain, with a fifth of gas above the estimate", async () => {
    expect(await send()).toEqual({ id: ID, txHash: TX_HASH, signed: "0" });
    expect(signed).toMatchObject([{ nonce: 0, chainId: 2201 }]);
    expect(Number(signed[0]?.gas)).toBeGreaterThanOrEqual(120_000);
    expect(Number(signed[0]?.gas)).toBeLessThan(124_096);
  });

  it("takes the gas and the nonce that it is given", async () => {
    await send({ gas: 50_000n, nonce: 9 });
    expect(signed).toEqual([{ nonce: 9, gas: 50_000n, chainId: 2201 }]);
  });

  it("throws the error of its line", async () => {
    answers.set(0, [failure("TARGET_NOT_ALLOWED")]);
    const details = { retry: "corrected" };
    const refusal = { name: "SubmissionFailedError", reason: "TARGET_NOT_ALLOWED", id: ID, details };
    await expect(send()).rejects.toMatchObject(refusal);
  });
});

describe("calls at the same time", () => {
  it("get consecutive nonces in the order in which they were made, however long their estimates take", async () => {
    let estimated: (gas: bigint) => void = () => undefined;
    estimates.set("0x01", new Promise((resolve) => (estimated = resolve)));
    const sends = [send({ data: "0x01", value: 1n }), send(), send()];
    estimated(200_000n);
    await Promise.all(sends);
    expect(signed.map(({ nonce, gas }) => [nonce, Number(gas) >= 240_000])).toEqual([
      [0, true],
      [1, false],
      [2, false],
    ]);
  });

  it("have bytes of their own, also where programs that know nothing of each other make the same call with the same nonce", async () => {
    for (let program = 0; program < 8; program++) {
      gasless = new Gasless({ url: "http://service", fetch }, String);
      await send();
    }
    expect(new Set(signed.map(({ nonce }) => nonce))).toEqual(new Set([0]));
    expect(new Set(signed.map(({ gas }) => gas)).size).toBeGreaterThan(1);
  });

  it("are numbered for each sender apart, however its address is written", async () => {
    await Promise.all([send(), send({}, senderOf("0xaa")), send({}, senderOf("0xCC"))]);
    expect(submitted.sort()).toEqual([0, 0, 1]);
  });

  it("skip the nonce that the caller gave to one of them", async () => {
    await Promise.all([send({ nonce: 1 }), send(), send()]);
    expect(submitted.sort()).toEqual([0, 1, 2]);
  });

  it("lose no nonce to a call that cannot be estimated", async () => {
    estimates.set("0xbad", Promise.reject(new Error("reverts")));
    expect(await settled(send({ data: "0xbad" }), send())).toMatchObject(["reverts", { txHash: TX_HASH }]);
    expect(submitted).toEqual([0]);
  });

  it("move up when one before them fails and leaves a gap", async () => {
    answers.set(0, [failure("SELECTOR_NOT_ALLOWED")]);
    answers.set(1, [failure("NONCE_GAP")]);
    const results = await settled(send(), send());
    expect(results).toMatchObject(["SELECTOR_NOT_ALLOWED", { txHash: TX_HASH }]);
    expect(submitted).toEqual([0, 1, 0]);
  });
});

describe("the nonce after a transaction", () => {
  const next = async () => {
    await send();
    return submitted.at(-1);
  };

  it("is the next one while the chain does not count the transaction yet", async () => {
    await send();
    expect(await next()).toBe(1);
    counted = 5;
    expect(await next()).toBe(5);
    // This node lags behind.
    counted = 4;
    expect(await next()).toBe(6);
  });

  it.each<[string, ResultLine | Response | Error]>([
    ["refused by a rule", failure("TARGET_NOT_ALLOWED")],
    ["refused with its request", refusal("QUEUE_AT_CAPACITY")],
    ["refused before it was stored", refusal("CHAIN_UNAVAILABLE")],
    ["never sent", new TypeError("failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) })],
  ])("that was %s is the same nonce again", async (_, answer) => {
    answers.set(0, [answer]);
    await settled(send());
    expect(await next()).toBe(0);
  });

  it.each<[string, ResultLine | Response | Error]>([
    ["still in flight", failure("OUTCOME_UNKNOWN")],
    ["run and reverted", failure("REVERTED")],
    ["perhaps accepted", new Error("reset")],
    ["perhaps stored by a database that failed", refusal("STORE_UNAVAILABLE")],
    ["perhaps accepted by a service that failed", refusal("INTERNAL_ERROR")],
  ])("that is %s is the following one", async (_, answer) => {
    answers.set(0, [answer]);
    await settled(send());
    expect(await next()).toBe(1);
  });

  it("is another one where a transaction of another program has it", async () => {
    answers.set(0, [failure("NONCE_CONFLICT")]);
    await send();
    expect(submitted).toEqual([0, 1]);
  });

  it("is read from the chain again when the remembered nonces leave a gap", async () => {
    await send();
    // The chain began anew, or a transaction of unknown outcome was not accepted.
    answers.set(1, [failure("NONCE_GAP")]);
    await send();
    expect(submitted).toEqual([0, 1, 0]);
  });

  it("that the caller chose is never changed", async () => {
    answers.set(7, [failure("NONCE_GAP")]);
    await expect(send({ nonce: 7 })).rejects.toMatchObject({ reason: "NONCE_GAP" });
    expect(submitted).toEqual([7]);
  });
});

describe("a call whose answer is lost", () => {
  const lost = () => new Error("reset");
  const impatient = (timeoutMs: number) =>
    new Gasless({ url: "http://service", fetch, timeoutMs, retry: AT_ONCE }, (bytes) => `hash of ${bytes}`);

  it("is sent again with the same bytes, until the service has told its outcome", async () => {
    answers.set(0, [
      lost(),
      refusal("STORE_UNAVAILABLE"),
      refusal("QUEUE_AT_CAPACITY"),
      failure("NOT_BROADCAST"),
    ]);
    gasless = impatient(5_000);
    expect(await send()).toEqual({ id: ID, txHash: TX_HASH, signed: "0" });
    expect(submitted).toEqual([0, 0, 0, 0, 0]);
    expect(signed).toHaveLength(1);
  });

  it("leaves its bytes, its hash and what to do in the error when the time is over", async () => {
    answers.set(0, [lost()]);
    gasless = impatient(0);
    const error: unknown = await send().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ inDoubt: [{ index: 0, signed: "0", txHash: "hash of 0" }] });
    expect(error).toMatchObject({ message: expect.stringContaining("send the same bytes again") });
    expect(await gasless.submitSigned("0")).toMatchObject({ signed: "0" });
    await send();
    expect(submitted).toEqual([0, 0, 1]);
  });

  it("frees its nonce as soon as its bytes turn out to be refused", async () => {
    answers.set(0, [lost(), failure("TARGET_NOT_ALLOWED")]);
    gasless = impatient(0);
    await settled(send());
    expect(await settled(gasless.submitSigned("0"))).toEqual(["TARGET_NOT_ALLOWED"]);
    await send();
    expect(submitted).toEqual([0, 0, 0]);
  });

  it("is cut, and sent again, when no answer comes at all", async () => {
    let requests = 0;
    const silent: typeof globalThis.fetch = async (input, init) => {
      if (requests++ > 0) return await fetch(input, init);
      return await new Promise((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
    };
    gasless = new Gasless({ url: "http://service", fetch: silent, timeoutMs: 1_000, retry: AT_ONCE }, String);
    expect(await send()).toMatchObject({ txHash: TX_HASH });
  });

  it("names what went wrong before, when the last attempt has no time for an answer", async () => {
    let requests = 0;
    const failingOnce: typeof globalThis.fetch = async (_, init) => {
      if (requests++ === 0) throw new TypeError("fetch failed", { cause: new Error("wrong version number") });
      return await new Promise((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
    };
    gasless = new Gasless({ url: "http://service", fetch: failingOnce, timeoutMs: 30 }, String);
    const error = {
      name: "StreamEndedError",
      message: expect.stringMatching(/http:\/\/service did not .*: wrong version number; the service [^;]+$/),
    };
    await expect(send()).rejects.toMatchObject({ ...error, inDoubt: [{ signed: "0" }] });
  });

  it("is signed with another nonce only when the chain has used its own for another transaction", async () => {
    const used: ResultLine = failure("NONCE_TOO_LOW");
    const usedByAnother = { ...used, error: { ...Object(used).error, details: { usedBy: TX_HASH } } };
    answers.set(0, [lost(), failure("NONCE_CONFLICT"), used, usedByAnother]);
    gasless = impatient(5_000);
    expect(await send()).toMatchObject({ signed: "1" });
    expect(submitted).toEqual([0, 0, 0, 0, 1]);
  });

  it("is not signed again in the place of bytes that may still execute", async () => {
    // More answers than any machine asks for within the time.
    answers.set(0, [lost(), ...Array<ResultLine>(5_000).fill(failure("NONCE_GAP"))]);
    gasless = impatient(1);
    expect(await settled(send())).toEqual([expect.stringContaining("send the same bytes again")]);
    expect(signed).toHaveLength(1);
  });
});

describe("an idempotency key", () => {
  const reused = () => {
    const error = new ProtocolError("IDEMPOTENCY_KEY_REUSED", "reused", { txHash: TX_HASH });
    return Response.json(requestErrorBody(error), { status: 422 });
  };

  it("that another program has used gives that program's payment, if it is the same", async () => {
    onChain.set(TX_HASH, { from: "0xaa", to: "0xbb", data: "0x", value: 0n });
    for (const lost of [[], [new Error("reset")]]) {
      answers.set(0, [...lost, reused()]);
      gasless = new Gasless({ url: "http://service", fetch, retry: AT_ONCE }, String);
      expect(await send({ idempotencyKey: "order-1" })).toEqual({ id: TX_HASH, txHash: TX_HASH });
    }
    for (const other of [{ value: 1n }, { data: "0x01" }, { to: "0xCC" }]) {
      answers.set(0, [reused()]);
      const sent = send({ idempotencyKey: "order-1", ...other });
      const refusal = { reason: "IDEMPOTENCY_KEY_REUSED", inDoubt: [], details: { txHash: TX_HASH } };
      await expect(sent).rejects.toMatchObject(refusal);
    }
    // The nonce was free each time.
    expect(new Set(submitted)).toEqual(new Set([0]));
  });

  it("leaves the outcome to the record where no node has the other program's payment", async () => {
    answers.set(0, [reused()]);
    gasless = new Gasless({ url: "http://service", fetch, timeoutMs: 0 }, String);
    const unknown = { code: "TIMEOUT", id: TX_HASH, inDoubt: [] };
    await expect(send({ idempotencyKey: "order-1" })).rejects.toMatchObject(unknown);
  });

  it("of a call that is under way, or in doubt, is no key of another call", async () => {
    answers.set(0, [new Error("reset")]);
    gasless = new Gasless({ url: "http://service", fetch, timeoutMs: 0 }, String);
    const first = settled(send({ idempotencyKey: "order-1" }));
    const other = { name: "InvalidArgumentError", message: expect.stringContaining("0; nothing was sent") };
    for (const attempt of ["under way", "in doubt"]) {
      const sent = send({ idempotencyKey: "order-1", value: 1n });
      await expect(sent, attempt).rejects.toMatchObject(other);
      await first;
    }
    expect(submitted).toEqual([0]);
  });

  it("goes out with each request, and is signed for once as long as the outcome is open", async () => {
    answers.set(0, [new Error("reset")]);
    gasless = new Gasless({ url: "http://service", fetch, timeoutMs: 0 }, String);
    await settled(send({ idempotencyKey: "order-1" }));
    const both = [send({ idempotencyKey: "order-1" }), send({ idempotencyKey: "order-1" })];
    expect((await Promise.all(both)).map(({ signed }) => signed)).toEqual(["0", "0"]);
    expect(keys).toEqual(["order-1", "order-1", "order-1"]);
  });

  it("that cannot be sent leaves nothing in doubt", async () => {
    const error: unknown = await send({ idempotencyKey: "order 1" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "InvalidArgumentError", inDoubt: [] });
    expect(submitted).toEqual([]);
  });

  it("keeps the call from being signed again with another nonce, since the service would take it for another one", async () => {
    answers.set(0, [failure("NONCE_CONFLICT")]);
    expect(await settled(send({ idempotencyKey: "order-1" }))).toEqual(["NONCE_CONFLICT"]);
    expect(signed).toHaveLength(1);
  });
});
