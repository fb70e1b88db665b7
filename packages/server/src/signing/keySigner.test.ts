import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesToHex, decodeTransaction, hexToBytes, recoverSender } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import { innerOf, WAIVER, WAIVER_KEY } from "../../test/support/user.js";
import { createKeySigner } from "./keySigner.js";
import { type SigningThread, startSigningThread } from "./startThread.js";
import { signWrappers, type WrapperRequest } from "./wrappers.js";

const SIGNING = { waiverKey: WAIVER_KEY, verificationGas: 50_000n, innerEncoding: "envelope" as const };

/** Requests with InnerTxs of several lengths. */
function requests(count: number): WrapperRequest[] {
  return Array.from({ length: count }, (_, i) => ({
    // The database's driver gives a view into a larger buffer.
    innerRaw: Buffer.from(`00${innerOf(i + 1, i * 1_000).slice(2)}`, "hex").subarray(1),
    waiverNonce: BigInt(i) * 1_000_003n,
  }));
}

const texts = (wrappers: readonly { wrapperRaw: Uint8Array; wrapperHash: Uint8Array }[]) =>
  wrappers.map(({ wrapperRaw, wrapperHash }) => [bytesToHex(wrapperRaw), bytesToHex(wrapperHash)]);

describe("the signing thread", () => {
  it("makes the same bytes as signing without a thread, for several callers at once", async () => {
    const thread = await startSigningThread();
    const other = { ...SIGNING, verificationGas: 60_000n };
    const [all, few, none] = await Promise.all([
      thread.sign(requests(30), SIGNING),
      thread.sign(requests(3), other),
      thread.sign([], SIGNING),
    ]);
    expect(texts(all)).toEqual(texts(signWrappers(requests(30), SIGNING)));
    expect(texts(few)).toEqual(texts(signWrappers(requests(3), other)));
    expect(none).toEqual([]);
    expect(bytesToHex(recoverSender(decodeTransaction(all[7]?.wrapperRaw ?? new Uint8Array(0))))).toBe(
      WAIVER,
    );
    await thread.end();
  });

  it("rejects a batch that it cannot sign, and signs the next", async () => {
    const thread = await startSigningThread();
    const broken = [{ innerRaw: hexToBytes("0x01"), waiverNonce: 0n }];
    await expect(thread.sign(broken, SIGNING)).rejects.toThrow("transaction");
    expect(await thread.sign(requests(1), SIGNING)).toHaveLength(1);
    await thread.end();
  });

  it("rejects every open batch when it ends", async () => {
    let ends = 0;
    const thread = await startSigningThread(() => ends++);
    // The thread cannot sign that many before it ends.
    const [one] = requests(1);
    const signed = thread.sign(one ? Array(20_000).fill(one) : [], SIGNING);
    const ended = thread.end();
    await expect(signed).rejects.toThrow("the signing thread has ended");
    await ended;
    expect(ends).toBe(1);
    await expect(thread.sign(requests(1), SIGNING)).rejects.toThrow("the signing thread has ended");
  });

  it("that ends right after its first message does not start, even if both events are handled late", async () => {
    const folder = await mkdtemp(join(tmpdir(), "gas-waiver-test-"));
    const program = join(folder, "program.cjs");
    await writeFile(
      program,
      "require('node:worker_threads').parentPort.postMessage('ready'); setImmediate(() => process.exit(1));",
    );
    const starting = startSigningThread(() => {}, program);
    // The test blocks its own thread meanwhile, so that both events are pending when it continues.
    const pass = new Int32Array(new SharedArrayBuffer(4));
    Atomics.wait(pass, 0, 0, 500);
    await expect(starting).rejects.toThrow("the signing thread has ended");
    await rm(folder, { recursive: true });
  });
});

describe("the signer of private keys", () => {
  const options = { verificationGas: SIGNING.verificationGas, innerEncoding: SIGNING.innerEncoding };

  /** A signer whose thread starts or fails to start when the test says so. */
  function controlled() {
    const starts: { come(thread: SigningThread): void; fail(): void; onEnd(): void }[] = [];
    const signer = createKeySigner({
      options,
      log: silent,
      startThread: (onEnd) =>
        new Promise((resolve, reject) => {
          starts.push({ come: resolve, fail: () => reject(new Error("no memory")), onEnd });
        }),
    });
    const batchSizes: number[] = [];
    const thread: SigningThread = {
      async sign(all, signing) {
        batchSizes.push(all.length);
        return signWrappers(all, signing);
      },
      async end() {},
    };
    const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
    return { signer, starts, thread, batchSizes, settled };
  }

  it("signs a small batch without a thread", async () => {
    const { signer, starts } = controlled();
    expect(texts(await signer.sign(requests(9), WAIVER_KEY))).toEqual(
      texts(signWrappers(requests(9), SIGNING)),
    );
    expect(starts).toHaveLength(0);
  });

  it("starts a thread for a large batch, and signs on the main thread until that runs", async () => {
    const { signer, starts, thread, batchSizes, settled } = controlled();
    const expected = texts(signWrappers(requests(10), SIGNING));
    expect(texts(await signer.sign(requests(10), WAIVER_KEY))).toEqual(expected);
    expect([starts.length, batchSizes]).toEqual([1, []]);
    starts[0]?.come(thread);
    await settled();
    expect(texts(await signer.sign(requests(10), WAIVER_KEY))).toEqual(expected);
    expect([starts.length, batchSizes]).toEqual([1, [10]]);
  });

  it("signs on the main thread where no other can be started", async () => {
    const { signer, starts, settled } = controlled();
    await signer.sign(requests(10), WAIVER_KEY);
    starts[0]?.fail();
    await settled();
    expect(await signer.sign(requests(10), WAIVER_KEY)).toHaveLength(10);
    expect(starts).toHaveLength(1);
    await signer.close();
  });

  it("signs on the main thread what its thread did not sign, and rejects what cannot be signed", async () => {
    const { signer, starts, thread, settled } = controlled();
    await signer.sign(requests(10), WAIVER_KEY);
    starts[0]?.come({ ...thread, sign: () => Promise.reject(new Error("the signing thread has ended")) });
    await settled();
    expect(texts(await signer.sign(requests(10), WAIVER_KEY))).toEqual(
      texts(signWrappers(requests(10), SIGNING)),
    );
    const broken = Array(10).fill({ innerRaw: hexToBytes("0x01"), waiverNonce: 0n });
    await expect(signer.sign(broken, WAIVER_KEY)).rejects.toThrow("transaction");
  });

  it("starts another thread when its thread has ended", async () => {
    const { signer, starts, thread, settled } = controlled();
    await signer.sign(requests(10), WAIVER_KEY);
    starts[0]?.come(thread);
    await settled();
    starts[0]?.onEnd();
    expect(await signer.sign(requests(10), WAIVER_KEY)).toHaveLength(10);
    expect(starts).toHaveLength(2);
  });
});
