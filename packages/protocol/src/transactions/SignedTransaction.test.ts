import { describe, expect, it } from "vitest";
import { byUser, eip1559, eip2930, legacy, refusal, TOKEN, USER } from "../../test/support/fixtures.js";
import { checksumAddress } from "../accounts/address.js";
import { javascriptCrypto } from "../crypto/javascript.js";
import { bytesToHex, hexToBytes } from "../encoding/hex.js";
import { decodeTransaction } from "./decodeTransaction.js";
import {
  hashTransaction,
  highestGasPrice,
  recoverSender,
  signingHash,
  signTransaction,
} from "./SignedTransaction.js";

describe("the example of EIP-155", () => {
  const tx = legacy({
    chainId: 1n,
    nonce: 9n,
    gasPrice: 20n * 10n ** 9n,
    gasLimit: 21_000n,
    to: new Uint8Array(20).fill(0x35),
    value: 10n ** 18n,
    data: new Uint8Array(0),
  });
  const signed = signTransaction(tx, new Uint8Array(32).fill(0x46));

  it("has the signing hash that the EIP gives", () => {
    expect(bytesToHex(signingHash(tx))).toBe(
      "0xdaf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53",
    );
  });

  it("has the bytes that the EIP gives", () => {
    expect(bytesToHex(signed.raw)).toBe(
      "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025" +
        "a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276" +
        "a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83",
    );
  });

  it("has the sender of the EIP's key, in both backends", () => {
    expect(checksumAddress(recoverSender(signed))).toBe("0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F");
    expect(recoverSender(signed, javascriptCrypto)).toEqual(recoverSender(signed));
  });
});

describe("a signed transaction", () => {
  it.each([legacy(), legacy({ chainId: undefined }), eip2930(), eip1559()])(
    "of type $type has its signer as sender",
    (tx) => {
      const signed = byUser(tx);
      expect(recoverSender(signed)).toEqual(USER);
      expect(recoverSender(decodeTransaction(signed.raw))).toEqual(USER);
    },
  );

  it("is hashed over its signed bytes, the type byte included", () => {
    const signed = byUser(eip1559());
    expect(signed.raw[0]).toBe(2);
    expect(hashTransaction(signed)).toEqual(javascriptCrypto.keccak256(signed.raw));
  });

  it("is signed over its chain: the same call has another signing hash elsewhere", () => {
    const hashes = [undefined, 0n, 988n, 2201n].map((chainId) =>
      bytesToHex(signingHash(legacy({ chainId }))),
    );
    expect(new Set(hashes).size).toBe(4);
  });

  it("has no sender where no key can have made the signature", () => {
    const compact = hexToBytes(`0x${"5".padStart(64, "0")}${"1".padStart(64, "0")}`);
    const tx = { ...byUser(legacy()), signature: { compact, yParity: 0 as const } };
    expect(refusal(() => recoverSender(tx)).reason).toBe("INVALID_SIGNATURE");
  });

  it("recovers with an access list longer than the stack takes as arguments", () => {
    const accessList = Array(200_000).fill({ address: TOKEN, storageKeys: [] });
    const signed = byUser(eip2930({ accessList }));
    expect(recoverSender(decodeTransaction(signed.raw))).toEqual(USER);
  });
});

describe("highestGasPrice", () => {
  it("is the gas price, or the higher fee of EIP-1559", () => {
    expect(highestGasPrice(legacy({ gasPrice: 3n }))).toBe(3n);
    expect(highestGasPrice(eip2930({ gasPrice: 3n }))).toBe(3n);
    expect(highestGasPrice(eip1559({ maxFeePerGas: 3n, maxPriorityFeePerGas: 2n }))).toBe(3n);
    expect(highestGasPrice(eip1559({ maxFeePerGas: 0n, maxPriorityFeePerGas: 2n }))).toBe(2n);
    expect(highestGasPrice(eip1559())).toBe(0n);
  });
});
