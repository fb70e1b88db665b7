import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, decodeTransaction, hexToBytes, recoverSender } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import { innerOf, WAIVER, WAIVER_KEY } from "../../test/support/user.js";
import { createSigner } from "./signer.js";
import { type SigningThread, startSigningThread } from "./startThread.js";
import { signWrappers, type WrapperRequest } from "./wrappers.js";

const HOW = { waiverKey: WAIVER_KEY, verificationGas: 50_000n };

/** InnerTxs of several lengths. */
function toWrap(count: number): WrapperRequest[] {
  return Array.from({ length: count }, (_, i) => ({
    // As the database's driver gives it: a piece of something larger.
    innerRaw: Buffer.from(`00${innerOf(i + 1, i * 1_000).slice(2)}`, "hex").subarray(1),
    waiverNonce: BigInt(i) * 1_000_003n,
  }));
}

const texts = (wrappers: readonly { wrapperRaw: Uint8Array; wrapperHash: Uint8Array }[]) =>
  wrappers.map(({ wrapperRaw, wrapperHash }) => [bytesToHex(wrapperRaw), bytesToHex(wrapperHash)]);

describe("the signing thread", () => {
  it("makes the very bytes that are made without it, for several callers at once", async () => {
    const thread = await startSigningThread();
    const other = { ...HOW, verificationGas: 60_000n };
    const [all, few, none] = await Promise.all([
      thread.sign(toWrap(30), HOW),
      thread.sign(toWrap(3), other),
      thread.sign([], HOW),
    ]);
    expect(texts(all)).toEqual(texts(signWrappers(toWrap(30), HOW)));
    expect(texts(few)).toEqual(texts(signWrappers(toWrap(3), other)));
    expect(none).toEqual([]);
    expect(bytesToHex(recoverSender(decodeTransaction(all[7]?.wrapperRaw ?? new Uint8Array(0))))).toBe(
      WAIVER,
    );
    await thread.end();
  });

  it("says what it could not sign, and goes on", async () => {
    const thread = await startSigningThread();
    const broken = [{ innerRaw: hexToBytes("0x01"), waiverNonce: 0n }];
    await expect(thread.sign(broken, HOW)).rejects.toThrow("transaction");
    expect(await thread.sign(toWrap(1), HOW)).toHaveLength(1);
    await thread.end();
  });

  it("that ends leaves nobody waiting", async () => {
    let ends = 0;
    const thread = await startSigningThread(() => ends++);
    // Far more than it can sign before it ends.
    const [one] = toWrap(1);
    const signed = thread.sign(one ? Array(20_000).fill(one) : [], HOW);
    const ended = thread.end();
    await expect(signed).rejects.toThrow("the signing thread has ended");
    await ended;
    expect(ends).toBe(1);
    await expect(thread.sign(toWrap(1), HOW)).rejects.toThrow("the signing thread has ended");
  });

  it("that ends with its first word does not start, however late the word is heard", async () => {
    const folder = await mkdtemp(join(tmpdir(), "gas-waiver-test-"));
    const program = join(folder, "program.cjs");
    await writeFile(
      program,
      "require('node:worker_threads').parentPort.postMessage('ready'); setImmediate(() => process.exit(1));",
    );
    const starting = startSigningThread(() => {}, program);
    // This thread is busy meanwhile: both the word and the end are there when it looks.
    const pass = new Int32Array(new SharedArrayBuffer(4));
    Atomics.wait(pass, 0, 0, 500);
    await expect(starting).rejects.toThrow("the signing thread has ended");
    await rm(folder, { recursive: true });
  });
});

describe("the signer", () => {
  const options = { verificationGas: HOW.verificationGas };

  /** A signer whose thread starts, or does not, when it is told to. */
  function signing() {
    const starts: { come(thread: SigningThread): void; fail(): void; onEnd(): void }[] = [];
    const signer = createSigner({
      options,
      log: silent,
      start: (onEnd) =>
        new Promise((resolve, reject) => {
          starts.push({ come: resolve, fail: () => reject(new Error("no memory")), onEnd });
        }),
    });
    const asked: number[] = [];
    const thread: SigningThread = {
      async sign(all, how) {
        asked.push(all.length);
        return signWrappers(all, how);
      },
      async end() {},
    };
    const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
    return { signer, starts, thread, asked, settled };
  }

  it("needs no thread for few", async () => {
    const { signer, starts } = signing();
    expect(texts(await signer.sign(toWrap(9), WAIVER_KEY))).toEqual(texts(signWrappers(toWrap(9), HOW)));
    expect(starts).toHaveLength(0);
  });

  it("starts a thread for many, and waits for none: it signs them itself until the thread is there", async () => {
    const { signer, starts, thread, asked, settled } = signing();
    const expected = texts(signWrappers(toWrap(10), HOW));
    expect(texts(await signer.sign(toWrap(10), WAIVER_KEY))).toEqual(expected);
    expect([starts.length, asked]).toEqual([1, []]);
    starts[0]?.come(thread);
    await settled();
    expect(texts(await signer.sign(toWrap(10), WAIVER_KEY))).toEqual(expected);
    expect([starts.length, asked]).toEqual([1, [10]]);
  });

  it("does without where no thread can be had", async () => {
    const { signer, starts, settled } = signing();
    await signer.sign(toWrap(10), WAIVER_KEY);
    starts[0]?.fail();
    await settled();
    expect(await signer.sign(toWrap(10), WAIVER_KEY)).toHaveLength(10);
    expect(starts).toHaveLength(1);
    await signer.close();
  });

  it("signs itself what its thread did not, and tells what cannot be signed at all", async () => {
    const { signer, starts, thread, settled } = signing();
    await signer.sign(toWrap(10), WAIVER_KEY);
    starts[0]?.come({ ...thread, sign: () => Promise.reject(new Error("the signing thread has ended")) });
    await settled();
    expect(texts(await signer.sign(toWrap(10), WAIVER_KEY))).toEqual(texts(signWrappers(toWrap(10), HOW)));
    const broken = Array(10).fill({ innerRaw: hexToBytes("0x01"), waiverNonce: 0n });
    await expect(signer.sign(broken, WAIVER_KEY)).rejects.toThrow("transaction");
  });

  it("starts another one when its thread has ended", async () => {
    const { signer, starts, thread, settled } = signing();
    await signer.sign(toWrap(10), WAIVER_KEY);
    starts[0]?.come(thread);
    await settled();
    starts[0]?.onEnd();
    expect(await signer.sign(toWrap(10), WAIVER_KEY)).toHaveLength(10);
    expect(starts).toHaveLength(2);
  });
});
