// How a batch gets into the store: some at a time.
import { compilePolicy, hexToBytes, type InnerTxRules } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { CHAIN_ID } from "../../test/support/modelChain.js";
import { silent } from "../../test/support/testPostgres.js";
import { innerOf, WAIVER } from "../../test/support/user.js";
import { limitsOfService } from "../model/caller.js";
import type { ResolvedOptions } from "../model/options.js";
import type { LineSource, ResultLines } from "../results/lines.js";
import type { Acceptance, Applicant } from "../store/accept.js";
import { createBatchAcceptor } from "./acceptBatch.js";

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

/** A taker whose writes each wait until they are told what becomes of them. */
function taking(transactions: readonly string[]) {
  const entries: LineSource[] = [];
  const writes: { applicants: readonly Applicant[]; finish: () => void; fail: (error: Error) => void }[] = [];
  let wrote = () => {};
  let refusing = false;
  let complete = false;
  const lines: ResultLines = {
    expect: () => {},
    add: (some) => entries.push(...some),
    complete: () => {
      complete = true;
    },
    stream: () => {
      throw new Error("nobody reads here");
    },
    cancel: () => {},
  };
  const taker = createBatchAcceptor({
    acceptAll: (applicants) =>
      new Promise<Acceptance[]>((resolve, reject) => {
        const finish = () => resolve(applicants.map(() => ({ kind: "accepted", waiver })));
        writes.push({ applicants, finish, fail: reject });
        wrote();
      }),
    idempotency: { decide: () => Promise.reject(new Error("the request has no name")) },
    carriersOf: () => undefined,
    chooseLane: () => waiver,
    onAccepted: () => {},
    isRefusing: () => refusing,
    log: silent,
  });
  const taken = taker.accept(transactions, { caller, rules, lines });
  /** The write with this number, as soon as it is asked for. */
  const write = async (number: number) => {
    while (writes[number] === undefined) {
      await new Promise<void>((resolve) => {
        wrote = resolve;
      });
    }
    return writes[number];
  };
  const refuse = () => {
    refusing = true;
  };
  return { entries, write, taken, refuse, isComplete: () => complete };
}

const batch = (size: number) => Array.from({ length: size }, (_, user) => innerOf(user + 1));
const outcomes = (entries: readonly LineSource[]) =>
  entries.map((entry) => ("error" in entry ? entry.error.reason : "taken"));

describe("a batch", () => {
  it("has its first lines before its last transaction is looked at, and then the others", async () => {
    const { entries, write, taken, isComplete } = taking(batch(60));
    (await write(0)).finish();
    const { others } = await taken;
    expect(entries.map(({ index }) => index)).toEqual([...Array(25).keys()]);
    (await write(1)).finish();
    (await write(2)).finish();
    await others;
    expect(entries.map(({ index }) => index)).toEqual([...Array(60).keys()]);
    expect(isComplete()).toBe(true);
  });

  it("is taken in smaller parts the larger its transactions are, never less than one", async () => {
    const large = innerOf(1, 0, { gasLimit: 8_000_000n, data: new Uint8Array(131_072).fill(1) });
    const { write, taken } = taking(Array(5).fill(large));
    const sizes: number[] = [];
    for (const number of [0, 1, 2]) {
      const { applicants, finish } = await write(number);
      sizes.push(applicants.length);
      finish();
    }
    await (await taken).others;
    expect(sizes).toEqual([2, 2, 1]);
  });

  it("is refused whole where its first part cannot be written, with nothing said in lines", async () => {
    const { entries, write, taken } = taking(batch(60));
    (await write(0)).fail(Object.assign(new Error("gone"), { code: "ECONNREFUSED" }));
    await expect(taken).rejects.toMatchObject({ reason: "STORE_UNAVAILABLE" });
    expect(entries).toEqual([]);
  });

  it("is told what is known where a later part cannot be written, in a line for each", async () => {
    const { entries, write, taken, isComplete } = taking([...batch(25), "0x12", ...batch(49)]);
    (await write(0)).finish();
    const { others } = await taken;
    (await write(1)).fail(Object.assign(new Error("gone"), { code: "ECONNREFUSED" }));
    await others;
    expect(outcomes(entries)).toEqual([
      ...Array(25).fill("taken"),
      "UNSUPPORTED_TYPE",
      ...Array(24).fill("OUTCOME_UNKNOWN"),
      ...Array(25).fill("NOT_BROADCAST"),
    ]);
    expect(isComplete()).toBe(true);
  });

  it("is taken no further when the service shuts down, and says so in a line for each", async () => {
    const { entries, write, taken, refuse } = taking(batch(30));
    (await write(0)).finish();
    refuse();
    await (await taken).others;
    expect(outcomes(entries)).toEqual([...Array(25).fill("taken"), ...Array(5).fill("NOT_BROADCAST")]);
  });
});
