import {
  bytesToHex,
  decodeTransaction,
  encodeRlp,
  hexToBytes,
  privateKeyAccount,
  type Signature,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { mismatchedAccount } from "../../../protocol/test/support/waiverAccountContract.js";
import { silent } from "../../test/support/testPostgres.js";
import {
  accountsOf,
  innerOf,
  SECOND_KEY,
  typedInnerOf,
  WAIVER,
  WAIVER_KEY,
} from "../../test/support/user.js";
import { type BatchWaiverAccount, CustodyError } from "./accountSigner.js";
import { createSigner } from "./signer.js";
import { startSigningThread } from "./startThread.js";
import { signWrappers, type WrapperRequest } from "./wrappers.js";

const options = { verificationGas: 50_000n, innerEncoding: "envelope" as const };
const requests = Array.from(
  { length: 40 },
  (_, i): WrapperRequest => ({ innerRaw: hexToBytes(innerOf(i + 1)), waiverNonce: BigInt(i) }),
);
const expected = signWrappers(requests, { waiverKey: WAIVER_KEY, ...options });

/** Counts the calls that are open at once. */
function counted(account: WaiverAccount) {
  const calls = { open: 0, maxOpen: 0, all: 0 };
  const sign = async (hash: Uint8Array): Promise<Signature> => {
    calls.open++;
    calls.all++;
    calls.maxOpen = Math.max(calls.maxOpen, calls.open);
    await new Promise((resolve) => setImmediate(resolve));
    calls.open--;
    return account.sign(hash);
  };
  return { account: { address: account.address, sign }, calls };
}

function signer(custodyTimeoutMs = 60_000, signal = new AbortController().signal) {
  return createSigner({ options, log: silent, signal, custodyTimeoutMs });
}

describe("the signer", () => {
  it("makes the same wrappers with any custody of a key: in this process, elsewhere, or in batches", async () => {
    const { account, calls } = counted(privateKeyAccount(WAIVER_KEY));
    let batches = 0;
    const batch: BatchWaiverAccount = {
      ...account,
      signAll: (hashes) => {
        batches++;
        return Promise.all(hashes.map((hash) => privateKeyAccount(WAIVER_KEY).sign(hash)));
      },
    };
    for (const custody of [...accountsOf(WAIVER_KEY), account, batch]) {
      expect(await signer().sign(requests, custody)).toEqual(expected);
    }
    expect([calls.all, batches]).toEqual([40, 1]);
    // A signing service limits its callers.
    expect(calls.maxOpen).toBeLessThanOrEqual(16);
  });

  it("writes typed InnerTxs as RLP strings on request, with each custody and in the thread alike", async () => {
    const typed = requests.map(({ waiverNonce }, i) => ({ innerRaw: typedInnerOf(i + 1), waiverNonce }));
    const rlp = { ...options, innerEncoding: "rlp" as const };
    const wrappers = signWrappers(typed, { waiverKey: WAIVER_KEY, ...rlp });
    const { data } = decodeTransaction(wrappers[0]?.wrapperRaw ?? new Uint8Array());
    expect(data).toEqual(encodeRlp(typedInnerOf(1)));
    const thread = await startSigningThread();
    const rlpSigner = createSigner({
      options: rlp,
      log: silent,
      signal: new AbortController().signal,
      startThread: async () => thread,
    });
    for (const custody of [...accountsOf(WAIVER_KEY), privateKeyAccount(WAIVER_KEY)]) {
      expect(await rlpSigner.sign(typed, custody)).toEqual(wrappers);
      // The first large batch takes the thread into use, and the second one is signed in it.
      expect(await rlpSigner.sign(typed, custody)).toEqual(wrappers);
    }
    await rlpSigner.close();
  });

  it("returns nothing of a batch in which one signature is another key's (D33)", async () => {
    const liar = mismatchedAccount(hexToBytes(WAIVER), SECOND_KEY);
    const honest = privateKeyAccount(WAIVER_KEY);
    let calls = 0;
    const wrongOnce = { ...honest, sign: (hash: Uint8Array) => (++calls === 7 ? liar : honest).sign(hash) };
    await expect(signer().sign(requests, liar)).rejects.toThrow(CustodyError);
    await expect(signer().sign(requests, wrongOnce)).rejects.toThrow("was made by another key");
  });

  it("refuses a custody that gives fewer signatures than hashes", async () => {
    const short: BatchWaiverAccount = { ...privateKeyAccount(WAIVER_KEY), signAll: async () => [] };
    await expect(signer().sign(requests, short)).rejects.toThrow("gave 0 of 40 signatures");
  });

  it("gives up a custody that does not answer in time, or while the service shuts down", async () => {
    const silentAccount = { address: hexToBytes(WAIVER), sign: () => new Promise<Signature>(() => {}) };
    await expect(signer(1).sign(requests, silentAccount)).rejects.toThrow("no answer within 1 ms");
    const ending = new AbortController();
    const signing = signer(60_000, ending.signal).sign(requests, silentAccount);
    ending.abort();
    await expect(signing).rejects.toThrow("shutting down");
    await expect(signer(60_000, ending.signal).sign(requests, silentAccount)).rejects.toThrow(CustodyError);
  });

  it("repeats the custody's message in the error, and not the key", async () => {
    const failing = {
      address: hexToBytes(WAIVER),
      sign: () => Promise.reject(new Error("the device is locked")),
    };
    const error = await signer()
      .sign(requests, failing)
      .catch((reason: Error) => reason);
    expect(String(error)).toContain("the device is locked");
    expect(String(error)).not.toContain(bytesToHex(WAIVER_KEY).slice(2));
  });
});
