import { bytesToHex, hashTransaction, parseInnerTx, type ResultLine } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { innerOf } from "../../test/support/user.js";
import type { Caller } from "../model/keys/caller.js";
import { createRawTransactionSender, type RawTransactionDependencies } from "./rawTransaction.js";
import { ToldAnswers } from "./toldAnswers.js";

const caller = { keyId: "key" } as Caller;
const NONCE = 5;

const RAW = innerOf(1, NONCE);
const hash = bytesToHex(hashTransaction(parseInnerTx(RAW)));

const failure = (code: "TIMEOUT" | "VALIDATION_FAILED", reason: string, details = {}): ResultLine => ({
  index: 0,
  id: "019e0000-0000-7000-8000-000000000000",
  success: false,
  error: { code, reason, message: "no luck", details },
});
const TIMEOUT = failure("TIMEOUT", "NOT_BROADCAST");
const GAP = failure("VALIDATION_FAILED", "NONCE_GAP", { missing: "4" });

/** A sender whose submission times out and later fails for a gap, with the limits of the time that it was given. */
function startSender(gatewayWait: "broadcast" | "included", count: () => Promise<string>) {
  const limits: unknown[] = [];
  async function* linesOf(line: ResultLine) {
    yield [line];
  }
  const dependencies: Partial<RawTransactionDependencies> = {
    intake: {
      submit: async (_caller, _transactions, _wait, terms) => {
        limits.push(terms?.timeoutMs);
        return linesOf(TIMEOUT);
      },
      watch: async () => linesOf(GAP),
    },
    rateLimiter: { take: async () => ({ refund: () => {} }) },
    options: { gatewayWait, gatewayPaid: "refuse", requestTimeoutMs: 30_000 },
    transactionCount: count,
  };
  return { ...createRawTransactionSender(dependencies as RawTransactionDependencies), limits };
}

it("answers with the hash of what is accepted before clients give up after 10 s", async () => {
  for (const count of [async () => "0x6", () => Promise.reject(new Error("no node"))]) {
    const { send, limits } = startSender("broadcast", count);
    expect(await send([RAW], caller, new ToldAnswers().begin())).toBe(hash);
    expect(limits).toEqual([8_000]);
  }
});

it("waits for the end of a transaction behind a nonce gap, and refuses it", async () => {
  const { send } = startSender("broadcast", async () => `0x${NONCE.toString(16)}`);
  await expect(send([RAW], caller, new ToldAnswers().begin())).rejects.toMatchObject({
    code: -32_000,
    message: /^nonce too high/,
  });
});

it("waits for the block as long as the service does", async () => {
  const { send, limits } = startSender("included", async () => "0x0");
  expect(await send([RAW], caller, new ToldAnswers().begin())).toBe(hash);
  expect(limits).toEqual([undefined]);
});

it.each<[unknown, number]>([
  [undefined, 8_000],
  [500, 500],
  ["0x1f4", 500],
  [60_000, 30_000],
  [0, 8_000],
  [-1, 8_000],
  [1.5, 8_000],
  ["soon", 8_000],
])("ends the wait for a receipt after the client's time, within the service's: %j", async (time, limit) => {
  const { sendSync, limits } = startSender("broadcast", async () => "0x6");
  await expect(sendSync([RAW, time], caller, new ToldAnswers().begin())).rejects.toMatchObject({
    code: 4,
    data: hash,
  });
  expect(limits).toEqual([limit]);
});

it("gives the missing nonce behind a nonce gap to whoever waits for a receipt, unless the time was chosen", async () => {
  const { sendSync } = startSender("broadcast", async () => `0x${NONCE.toString(16)}`);
  const send = (...time: number[]) => sendSync([RAW, ...time], caller, new ToldAnswers().begin());
  await expect(send()).rejects.toMatchObject({ code: 6, message: /^nonce too high/, data: "0x4" });
  await expect(send(100)).rejects.toMatchObject({ code: 4, data: hash });
});
