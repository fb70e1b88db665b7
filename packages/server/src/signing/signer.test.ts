import {
  bytesToHex,
  decodeTransaction,
  encodeRlp,
  hexToBytes,
  privateKeyAccount,
  type Signature,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { mismatchedAccount } from "../../../protocol/test/support/waiverAccountContract.js";
import {
  type CustodyFault,
  describeRemoteCustody,
  laneSignerOf,
  requestsOf,
  signAll,
  wrappersOf,
} from "../../test/support/remoteCustody.js";
import { silent } from "../../test/support/testPostgres.js";
import { accountsOf, SECOND_KEY, typedInnerOf, WAIVER, WAIVER_KEY } from "../../test/support/user.js";
import { CustodyError, CustodyThrottledError, WrongSignatureError } from "./custodyCalls.js";
import { createSigner } from "./signer.js";
import { startSigningThread } from "./startThread.js";
import { signWrappers } from "./wrappers.js";

const honest = privateKeyAccount(WAIVER_KEY);
const liar = mismatchedAccount(hexToBytes(WAIVER), SECOND_KEY);
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A custody in this process that behaves like one behind a network. */
function openRemote() {
  let fault: CustodyFault | undefined;
  let delayMs = 0;
  const sign = async (hash: Uint8Array): Promise<Signature> => {
    if (fault === "silent") return await new Promise(() => {});
    await sleep(delayMs);
    if (fault === "refuses") throw new Error("the device is locked");
    if (fault === "throttles") throw new CustodyThrottledError();
    return (fault === "wrong key" ? liar : honest).sign(hash);
  };
  return {
    account: { address: honest.address, sign },
    setFault: (next: CustodyFault | undefined) => {
      fault = next;
    },
    setDelay: (ms: number) => {
      delayMs = ms;
    },
  };
}

describeRemoteCustody("in another process", async () => openRemote());

/** A custody whose calls the test answers one by one, in the order in which they come. */
function manualCustody() {
  const calls: { readonly answer: () => Promise<void>; readonly fail: (why: string) => void }[] = [];
  const sign = (hash: Uint8Array) =>
    new Promise<Signature>((resolve, reject) => {
      const answer = async () => resolve(await honest.sign(hash));
      calls.push({ answer, fail: (why) => reject(new Error(why)) });
    });
  return { account: { address: honest.address, sign }, calls };
}

describe("the signer of a lane", () => {
  it("makes the same wrappers with a key in this process and elsewhere", async () => {
    const requests = requestsOf(40);
    for (const account of [...accountsOf(WAIVER_KEY), honest]) {
      expect(await signAll(laneSignerOf(account), requests)).toEqual(wrappersOf(requests));
    }
  });

  it("writes typed InnerTxs as RLP strings on request, with each custody and in the thread alike", async () => {
    const typed = requestsOf(40).map((one, i) => ({ ...one, innerRaw: typedInnerOf(i + 1) }));
    const rlp = { verificationGas: 50_000n, innerEncoding: "rlp" as const };
    const wrappers = signWrappers(typed, { waiverKey: WAIVER_KEY, ...rlp });
    const { data } = decodeTransaction(wrappers[0]?.wrapperRaw ?? new Uint8Array());
    expect(data).toEqual(encodeRlp(typedInnerOf(1)));
    const thread = await startSigningThread();
    const signers = createSigner({
      options: { ...rlp, custodyRatePerSecond: 10_000, custodyTimeoutMs: 10_000 },
      log: silent,
      signal: new AbortController().signal,
      startThread: async () => thread,
    });
    for (const custody of [...accountsOf(WAIVER_KEY), honest]) {
      expect(await signAll(signers.of(custody), typed)).toEqual(wrappers);
      // The first large batch takes the thread into use, and the second one is signed in it.
      expect(await signAll(signers.of(custody), typed)).toEqual(wrappers);
    }
    await signers.close();
  });

  it("returns the first ones that are signed, and never one above a signature that is missing", async () => {
    const { account, calls } = manualCustody();
    const signer = laneSignerOf(account);
    const requests = requestsOf(4);
    const first = signer.sign(requests);
    await Promise.all([calls[0]?.answer(), calls[2]?.answer(), calls[3]?.answer()]);
    expect(await first).toEqual(wrappersOf(requests).slice(0, 1));
    expect(await signer.sign(requests.slice(1))).toEqual([]);
    expect([...signer.begun.values()]).toEqual([1n, 2n, 3n]);
    await calls[1]?.answer();
    expect(await signer.sign(requests.slice(1))).toEqual(wrappersOf(requests).slice(1));
    // Nothing was signed twice.
    expect(calls).toHaveLength(4);
  });

  it("returns what was not stored again, without another signature", async () => {
    const { account, calls } = manualCustody();
    const signer = laneSignerOf(account);
    const signing = signer.sign(requestsOf(1));
    await calls[0]?.answer();
    expect(await signing).toEqual(await signer.sign(requestsOf(1)));
    expect(calls).toHaveLength(1);
  });

  it("drops the answer of a submission that has another nonce now", async () => {
    const { account, calls } = manualCustody();
    const signer = laneSignerOf(account);
    expect(await signer.sign(requestsOf(1))).toEqual([]);
    const moved = requestsOf(1).map((request) => ({ ...request, waiverNonce: 7n }));
    const signing = signer.sign(moved);
    await Promise.all([calls[0]?.answer(), calls[1]?.answer()]);
    expect(await signing).toEqual(wrappersOf(moved));
  });

  it("tries a failed signature again, and leaves a submission out that fails three times while others are signed", async () => {
    const sign = (hash: Uint8Array) =>
      bytesToHex(hash) === poisoned ? Promise.reject(new Error("no")) : honest.sign(hash);
    let tries = 0;
    const failingOnce = (hash: Uint8Array) =>
      tries++ === 0 ? Promise.reject(new Error("once")) : honest.sign(hash);
    const requests = requestsOf(2);
    const retrying = laneSignerOf({ address: honest.address, sign: failingOnce });
    expect(await signAll(retrying, requests)).toEqual(wrappersOf(requests));

    const hashes: string[] = [];
    const recording = {
      address: honest.address,
      sign(hash: Uint8Array) {
        hashes.push(bytesToHex(hash));
        return honest.sign(hash);
      },
    };
    await signAll(laneSignerOf(recording), requests);
    const poisoned = hashes[0];
    const signer = laneSignerOf({ address: honest.address, sign });
    while (!signer.isRefused("submission 1")) expect(await signer.sign(requests)).toEqual([]);
    expect(signer.isRefused("submission 2")).toBe(false);
    expect([...signer.begun.keys()]).toEqual(["submission 2"]);
  });

  it("asks for no more at once than the rate makes in a second, and plans only what is begun and comes soon", async () => {
    const { account, calls } = manualCustody();
    const signer = laneSignerOf(account, { perSecond: 100 });
    expect(signer.window).toBe(25);
    await signer.sign(requestsOf(200));
    expect(calls.length).toBeGreaterThanOrEqual(10);
    expect(calls.length).toBeLessThanOrEqual(100);
    expect(signer.window).toBe(signer.begun.size + 25);
  });

  it("gives up a custody that takes nothing but throttling, and any custody while the service shuts down", async () => {
    const remote = openRemote();
    remote.setFault("throttles");
    await expect(signAll(laneSignerOf(remote.account, { timeoutMs: 50 }), requestsOf(1))).rejects.toThrow(
      "no signature within 100 ms",
    );
    remote.setFault("silent");
    const ending = new AbortController();
    const signer = laneSignerOf(remote.account, { signal: ending.signal });
    const signing = signAll(signer, requestsOf(1));
    ending.abort();
    await expect(signing).rejects.toThrow("shutting down");
    await expect(signAll(signer, requestsOf(1))).rejects.toThrow(CustodyError);
    const { account, calls } = manualCustody();
    await expect(laneSignerOf(account, { signal: ending.signal }).sign(requestsOf(1))).rejects.toThrow(
      "shutting down",
    );
    expect(calls).toEqual([]);
  });

  it("returns nothing of a batch after a signature of another key (D33), and the custody's message without the key", async () => {
    let calls = 0;
    const wrongOnce = { ...honest, sign: (hash: Uint8Array) => (++calls === 7 ? liar : honest).sign(hash) };
    const signing = signAll(laneSignerOf(wrongOnce), requestsOf(40));
    await expect(signing).rejects.toThrow("was made by another key");
    await expect(signing).rejects.toThrow(WrongSignatureError);
    const remote = openRemote();
    remote.setFault("refuses");
    const error = await signAll(laneSignerOf(remote.account), requestsOf(1)).catch((reason: Error) => reason);
    expect(String(error)).toContain("the device is locked");
    expect(String(error)).not.toContain(bytesToHex(WAIVER_KEY).slice(2));
  });
});
