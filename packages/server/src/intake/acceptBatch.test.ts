// A batch is validated and written in slices.
import { randomUUID } from "node:crypto";
import { compilePolicy, hexToBytes, type InnerTxRules } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { CHAIN_ID } from "../../test/support/modelChain.js";
import { silent } from "../../test/support/testPostgres.js";
import { innerOf, WAIVER } from "../../test/support/user.js";
import { limitsOfService } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import { PRICES } from "../model/prices.js";
import type { LineSource } from "../results/resultLine.js";
import type { SubmissionsByHash } from "../results/submissionsByHash.js";
import type { Acceptance, NewSubmission } from "../store/accept/newSubmission.js";
import { StoreUnavailableError, troubleNamed } from "../store/database/storeTrouble.js";
import { LoopQueue } from "../util/loopQueue.js";
import { type AdmittedRequest, BatchAcceptor } from "./acceptBatch.js";

const waiver = hexToBytes(WAIVER);
const rules: InnerTxRules = {
  chainId: BigInt(CHAIN_ID),
  maxGasLimit: 10_000_000n,
  maxDataLength: 131_072,
  policy: compilePolicy([{ address: "*" }]),
  policyName: "the policy",
};
const caller = {
  keyId: "key",
  limits: limitsOfService({} as ResolvedOptions),
  allowedTargets: undefined,
  caps: undefined,
};

/** Accepts a batch with an acceptor whose writes wait until the test finishes or fails them. */
function startAccepting(
  transactions: readonly string[],
  findStanding: SubmissionsByHash["standing"] = async () => new Map(),
) {
  const lineSources: LineSource[] = [];
  const kept: string[] = [];
  const writes: {
    newSubmissions: readonly NewSubmission[];
    finish: () => void;
    fail: (error: Error) => void;
  }[] = [];
  const charged: number[] = [];
  class CountingLoop extends LoopQueue {
    override charge(_party: string, price: number): void {
      charged.push(price);
    }
  }
  let onWrite = () => {};
  let isStopping = false;
  let isComplete = false;
  const lines: AdmittedRequest["lines"] = {
    expect: () => {},
    add: (added) => lineSources.push(...added),
    complete: () => {
      isComplete = true;
    },
  };
  const acceptor = new BatchAcceptor({
    acceptAll: (newSubmissions) =>
      new Promise<Acceptance[]>((resolve, reject) => {
        const finish = () => resolve(newSubmissions.map(() => ({ kind: "accepted", waiver })));
        writes.push({ newSubmissions, finish, fail: reject });
        onWrite();
      }),
    idempotency: { decide: () => Promise.reject(new Error("the request has no idempotency key")) },
    loop: new CountingLoop(),
    carriersOf: () => undefined,
    chooseLane: () => waiver,
    newId: randomUUID,
    onAccepted: () => {},
    isStopping: () => isStopping,
    findStanding,
    refusals: { keep: (_, lines) => kept.push(...lines.map(({ error }) => error.reason)) },
    log: silent,
  });
  const accepted = acceptor.accept(transactions, { caller, rules, lines, onDecided() {} });
  /** Resolves to the write with this number when the acceptor has begun it. */
  const write = async (number: number) => {
    while (writes[number] === undefined) {
      await new Promise<void>((resolve) => {
        onWrite = resolve;
      });
    }
    return writes[number];
  };
  const stop = () => {
    isStopping = true;
  };
  return { lineSources, kept, charged, write, accepted, stop, isComplete: () => isComplete };
}

const batch = (size: number) => Array.from({ length: size }, (_, user) => innerOf(user + 1));
const outcomes = (lineSources: readonly LineSource[]) =>
  lineSources.map((source) => ("error" in source ? source.error.reason : "accepted"));

describe("a batch", () => {
  it("gets its first lines before its last transaction is validated", async () => {
    const { lineSources, write, accepted, isComplete } = startAccepting(batch(60));
    (await write(0)).finish();
    const { completed } = await accepted;
    expect(lineSources.map(({ index }) => index)).toEqual([...Array(25).keys()]);
    (await write(1)).finish();
    (await write(2)).finish();
    await completed;
    expect(lineSources.map(({ index }) => index)).toEqual([...Array(60).keys()]);
    expect(isComplete()).toBe(true);
  });

  it("is charged for each write, however little is in it", async () => {
    const { charged, write, accepted } = startAccepting([...batch(26), "0x12"]);
    (await write(0)).finish();
    (await write(1)).finish();
    await (await accepted).completed;
    expect(charged).toEqual([PRICES.write + 25 * PRICES.accept, PRICES.write + PRICES.accept]);
    const refused = startAccepting(["0x12"]);
    (await refused.write(0)).finish();
    await (await refused.accepted).completed;
    expect(refused.charged).toEqual([0]);
  });

  it("is written in smaller slices if its transactions are large", async () => {
    const large = innerOf(1, 0, { gasLimit: 8_000_000n, data: new Uint8Array(131_072).fill(1) });
    const { write, accepted } = startAccepting(Array(5).fill(large));
    const sizes: number[] = [];
    for (const number of [0, 1, 2]) {
      const { newSubmissions, finish } = await write(number);
      sizes.push(newSubmissions.length);
      finish();
    }
    await (await accepted).completed;
    expect(sizes).toEqual([2, 2, 1]);
  });

  it("is refused whole, without any line, if its first slice cannot be written", async () => {
    const { lineSources, write, accepted } = startAccepting(batch(60));
    (await write(0)).fail(new StoreUnavailableError(troubleNamed("unreachable")));
    await expect(accepted).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(lineSources).toEqual([]);
  });

  it("has nothing accepted if nobody can tell whether a refused transaction was accepted before", async () => {
    const refused = innerOf(2, 0, { gasLimit: 20_000_000n });
    const { write, accepted } = startAccepting([innerOf(1), refused], () =>
      Promise.reject(new StoreUnavailableError(troubleNamed("unreachable"))),
    );
    await expect(Promise.race([accepted, write(0)])).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
  });

  it("gets a line with what is known for each transaction if a later slice cannot be written", async () => {
    const transactions = [...batch(25), "0x12", ...batch(49)];
    const { lineSources, kept, write, accepted, isComplete } = startAccepting(transactions);
    (await write(0)).finish();
    const { completed } = await accepted;
    (await write(1)).fail(new StoreUnavailableError(troubleNamed("unreachable")));
    await completed;
    expect(outcomes(lineSources)).toEqual([
      ...Array(25).fill("accepted"),
      "MALFORMED_RLP",
      ...Array(24).fill("OUTCOME_UNKNOWN"),
      ...Array(25).fill("NOT_BROADCAST"),
    ]);
    // A transaction that may have been accepted has no record of a refusal.
    expect(kept).toEqual(["MALFORMED_RLP", ...Array(25).fill("NOT_BROADCAST")]);
    expect(isComplete()).toBe(true);
  });

  it("gets a line for each transaction that is not accepted because the service shuts down", async () => {
    const { lineSources, write, accepted, stop } = startAccepting(batch(30));
    (await write(0)).finish();
    stop();
    await (await accepted).completed;
    expect(outcomes(lineSources)).toEqual([...Array(25).fill("accepted"), ...Array(5).fill("NOT_BROADCAST")]);
  });
});
