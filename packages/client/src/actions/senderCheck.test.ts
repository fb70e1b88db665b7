import { bytesToHex, type Hex, hexToBytes, privateKeyToAddress } from "@gas-waiver/protocol";
import { Transaction, Wallet } from "ethers";
import { recoverTransactionAddress, type Hex as ViemHex } from "viem";
import { describe, expect, it } from "vitest";
import { createWaiverClient, type SenderCheck, WrongSenderError } from "../index.js";
import { senderOf } from "../selfHosted.js";

const KEY: Hex = `0x${"22".repeat(32)}`;
const address = bytesToHex(privateKeyToAddress(hexToBytes(KEY)));
const signed = await new Wallet(KEY).signTransaction({
  ...{
    type: 0,
    chainId: 2201,
    nonce: 0,
    gasPrice: 0,
    gasLimit: 60_000,
    to: `0x${"33".repeat(20)}`,
    data: "0x01",
  },
});
/** The same bytes with another calldata byte, under the same signature. */
const changed = Object.assign(Transaction.from(signed), { data: "0x02" }).serialized;

/** Submits to a port on which nobody listens, and returns the error, or tells what came instead. */
async function submitWith(sender: SenderCheck, ...transactions: string[]): Promise<unknown> {
  const client = createWaiverClient({ url: "http://127.0.0.1:1", apiKey: "gw_test_key_secret" });
  try {
    for await (const _ of client.submit(transactions, { sender })) return "a line";
    return "no line";
  } catch (error) {
    return error;
  }
}

describe("a transaction whose bytes were changed after signing", () => {
  it("stays valid, and recovers to another sender", () => {
    expect(senderOf(signed)).toBe(address);
    expect(senderOf(changed)).not.toBe(address);
  });
});

describe("submit with a sender", () => {
  it.each<[string, SenderCheck["recover"]]>([
    ["this package", senderOf],
    ["ethers", (signedBytes) => Transaction.from(signedBytes).from ?? ""],
    [
      "viem",
      (signedBytes) => recoverTransactionAddress({ serializedTransaction: signedBytes as ViemHex as never }),
    ],
  ])(
    "sends what that account has signed, and refuses any other transaction, with the recovery of %s",
    async (_, recover) => {
      const sender = { address: address.toUpperCase().replace("0X", "0x"), recover };
      // The attempt to send is the proof that the check passed.
      expect(await submitWith(sender, signed)).toMatchObject({ name: "ConnectionFailedError" });
      const error = await submitWith(sender, signed, changed);
      expect(error).toBeInstanceOf(WrongSenderError);
      expect(error).toMatchObject({
        index: 1,
        message: expect.stringMatching(/recovers to 0x.*nothing was sent/),
      });
    },
  );

  it("refuses bytes that recover to no sender", async () => {
    const error = await submitWith({ address, recover: senderOf }, "0x12");
    expect(error).toMatchObject({ name: "WrongSenderError", index: 0 });
  });
});
