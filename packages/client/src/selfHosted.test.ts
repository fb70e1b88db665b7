import {
  bytesToHex,
  decodeTransaction,
  hexToBytes,
  MARKER_ADDRESS,
  privateKeyAccount,
  privateKeyToAddress,
  recoverSender,
} from "@gas-waiver/protocol";
import { encodeRlp, SigningKey, Transaction, Wallet } from "ethers";
import { sign } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { describeWaiverAccount } from "../../protocol/test/support/waiverAccountContract.js";
import { broadcast, hashOf, hashSignerAccount, type InnerEncoding, wrap } from "./selfHosted.js";

const KEY = `0x${"11".repeat(32)}` as const;
const user = new Wallet(`0x${"22".repeat(32)}`);
const call = { type: 0, chainId: 2201, nonce: 0, gasPrice: 0, gasLimit: 60_000, to: `0x${"33".repeat(20)}` };
const inner = await user.signTransaction(call);
const place = { nonce: 4, chainId: 2201 };

describeWaiverAccount(
  "of a signer in hex",
  () =>
    hashSignerAccount(bytesToHex(privateKeyToAddress(hexToBytes(KEY))), (hash) =>
      new SigningKey(KEY).sign(hash),
    ),
  privateKeyToAddress(hexToBytes(KEY)),
);

describe("wrap", () => {
  it("gives a wrapper to the marker, signed by the waiver, around the user's bytes", async () => {
    const wrapper = decodeTransaction(hexToBytes(await wrap(inner, { privateKey: KEY }, place)));
    expect(wrapper).toMatchObject({ type: "legacy", chainId: 2201n, nonce: 4n, gasPrice: 0n, value: 0n });
    expect(wrapper.to).toEqual(MARKER_ADDRESS);
    expect(bytesToHex(wrapper.data)).toBe(inner);
    expect(recoverSender(wrapper)).toEqual(privateKeyToAddress(hexToBytes(KEY)));
  });

  it("gives the same wrapper for a key in bytes, and for signatures of viem and ethers", async () => {
    const wrapper = await wrap(inner, { privateKey: KEY }, place);
    const signers = [
      { privateKey: hexToBytes(KEY) },
      { sign: (hash: `0x${string}`) => new SigningKey(KEY).sign(hash) },
      {
        sign: async (hash: `0x${string}`) => {
          const { r, s, yParity = 0 } = await sign({ hash, privateKey: KEY });
          return { r, s, yParity };
        },
      },
    ];
    for (const signer of signers)
      expect(await wrap(inner, signer, { nonce: 4n, chainId: 2201n })).toBe(wrapper);
  });

  it("adds the verification gas that the caller gives", async () => {
    const [less, more] = await Promise.all(
      [0n, 10n].map(async (verificationGas) =>
        decodeTransaction(hexToBytes(await wrap(inner, { privateKey: KEY }, { ...place, verificationGas }))),
      ),
    );
    expect((more?.gasLimit ?? 0n) - (less?.gasLimit ?? 0n)).toBe(10n);
  });

  it("writes a typed transaction as an RLP string on request", async () => {
    const typed = await user.signTransaction({
      ...call,
      type: 2,
      gasPrice: null,
      maxFeePerGas: 0,
      maxPriorityFeePerGas: 0,
    });
    const dataOf = async (innerEncoding?: InnerEncoding) => {
      const options = { ...place, ...(innerEncoding && { innerEncoding }) };
      return Transaction.from(await wrap(typed, { privateKey: KEY }, options)).data;
    };
    expect(await dataOf()).toBe(typed);
    expect(await dataOf("rlp")).toBe(encodeRlp(typed));
  });

  it.each([
    ["for another chain", { chainId: 1 }, "WRONG_CHAIN_ID"],
    ["with a gas price", { gasPrice: 1 }, "NON_ZERO_GAS_PRICE"],
    ["that creates a contract", { to: null, data: "0x00" }, "CONTRACT_CREATION"],
    ["to the marker", { to: bytesToHex(MARKER_ADDRESS) }, "TARGET_IS_MARKER"],
    ["with too little gas", { gasLimit: 20_999 }, "GAS_LIMIT_TOO_LOW"],
  ])("refuses a transaction %s", async (_, change, reason) => {
    const strange = await user.signTransaction({ ...call, ...change });
    await expect(wrap(strange, { privateKey: KEY }, place)).rejects.toMatchObject({ reason });
  });

  it("takes a waiver account, and gives the same wrapper as with the key itself", async () => {
    const signingKey = new SigningKey(KEY);
    const address = bytesToHex(privateKeyToAddress(hexToBytes(KEY)));
    const accounts = [
      privateKeyAccount(hexToBytes(KEY)),
      hashSignerAccount(address, (hash) => signingKey.sign(hash)),
    ];
    const wrapper = await wrap(inner, { privateKey: KEY }, place);
    for (const account of accounts) expect(await wrap(inner, account, place)).toBe(wrapper);
  });

  it("refuses an account whose signature another key has made", async () => {
    const address = bytesToHex(new Uint8Array(20).fill(7));
    const liar = hashSignerAccount(address, (hash) => new SigningKey(KEY).sign(hash));
    const recovered = bytesToHex(privateKeyToAddress(hexToBytes(KEY)));
    await expect(wrap(inner, liar, place)).rejects.toMatchObject({
      reason: "WRAPPER_INVALID_SIGNATURE",
      values: { waiver: address, recovered },
    });
  });

  it("refuses a signature that no key can have made", async () => {
    const sign = () => ({ r: "0x00", s: "0x00", yParity: 0 });
    await expect(wrap(inner, { sign }, place)).rejects.toMatchObject({ name: "ProtocolError" });
  });
});

describe("broadcast", () => {
  const answering = (body: unknown, status = 200) => ({
    fetch: async () => Response.json(body, { status }),
  });
  const URL_WITH_KEY = "http://node.example/v3/secret";

  it("sends the bytes, and gives the wrapper's hash", async () => {
    const seen: unknown[] = [];
    const fetch: typeof globalThis.fetch = async (_, init) => {
      seen.push(JSON.parse(String(init?.body)));
      return Response.json({ jsonrpc: "2.0", id: 1, result: hashOf(inner) });
    };
    expect(await broadcast(URL_WITH_KEY, inner, { fetch })).toBe(hashOf(inner));
    expect(seen).toMatchObject([{ method: "eth_sendRawTransaction", params: [inner] }]);
  });

  it("succeeds when the node already has the wrapper", async () => {
    const known = answering({ error: { code: -32000, message: "already known" } });
    expect(await broadcast(URL_WITH_KEY, inner, known)).toBe(hashOf(inner));
  });

  it("says why the node refused it", async () => {
    const refused = answering({ error: { code: -32000, message: "nonce too low" } });
    const error = { name: "NodeRefusedError", code: -32000, message: "nonce too low", kind: "nonce too low" };
    await expect(broadcast(URL_WITH_KEY, inner, refused)).rejects.toMatchObject(error);
  });

  it("does not take 'unknown transaction type' for a known transaction", async () => {
    const refused = answering({ error: { code: -32000, message: "unknown transaction type" } });
    const error = { name: "NodeRefusedError", kind: "disputed" };
    await expect(broadcast(URL_WITH_KEY, inner, refused)).rejects.toMatchObject(error);
  });

  it.each([[{ result: "0x00" }], [{}], [null], [{ error: "no" }]])("refuses the answer %j", async (body) => {
    const error = { name: "MalformedAnswerError", status: 502 };
    await expect(broadcast(URL_WITH_KEY, inner, answering(body, 502))).rejects.toMatchObject(error);
  });

  it("tells a node that was not reached from one that may have the wrapper, and keeps the secrets in its address", async () => {
    const failing = (error: Error) => ({ fetch: () => Promise.reject(error) });
    const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    const never = await broadcast(URL_WITH_KEY, inner, failing(refused)).catch((error: Error) => error);
    expect(never).toMatchObject({ name: "ConnectionFailedError", certainty: "not_sent" });
    expect(String(never)).toContain("the node at http://node.example cannot be reached");
    expect(String(never)).not.toContain("secret");
    const cut = broadcast(URL_WITH_KEY, inner, failing(new Error("reset")));
    await expect(cut).rejects.toMatchObject({ certainty: "unknown" });
  });

  it("ends with the signal", async () => {
    const signal = AbortSignal.abort(new Error("changed my mind"));
    await expect(broadcast(URL_WITH_KEY, inner, { signal })).rejects.toThrow("changed my mind");
  });
});
