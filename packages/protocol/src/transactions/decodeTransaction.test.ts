import { describe, expect, it } from "vitest";
import { byUser, eip1559, eip2930, legacy, refusal, TOKEN } from "../../test/support/fixtures.js";
import { bigIntToBytes, bytesToHex, concatBytes, hexToBytes } from "../encoding/hex.js";
import { encodeRlp, type RlpItem } from "../encoding/rlp.js";
import { decodeTransaction } from "./decodeTransaction.js";
import { encodeTransaction, type UnsignedTransaction } from "./SignedTransaction.js";

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const STORAGE_KEY = new Uint8Array(32).fill(7);

/** The fields of a signed transaction on the wire, some of them replaced. */
function legacyBytes(replace: Record<number, RlpItem> = {}, appended: RlpItem[] = []): Uint8Array {
  const fields: RlpItem[] = [0n, 0n, 100_000n, TOKEN, 0n, new Uint8Array(0), 35n + 2n * 2201n, 1n, 1n];
  return encodeRlp([...fields.map((field, i) => replace[i] ?? field), ...appended]);
}

function typedBytes(
  type: 1 | 2,
  replace: Record<number, RlpItem> = {},
  appended: RlpItem[] = [],
): Uint8Array {
  const fees = type === 1 ? [0n] : [0n, 0n];
  const call = [100_000n, TOKEN, 0n, new Uint8Array(0), []];
  const fields: RlpItem[] = [2201n, 0n, ...fees, ...call, 0n, 1n, 1n];
  const payload = encodeRlp([...fields.map((field, i) => replace[i] ?? field), ...appended]);
  return concatBytes(Uint8Array.of(type), payload);
}

const decode = (bytes: Uint8Array) => () => decodeTransaction(bytes);

describe("decodeTransaction", () => {
  it("reads the example of EIP-155", () => {
    const raw = hexToBytes(
      "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025" +
        "a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276" +
        "a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83",
    );
    expect(decodeTransaction(raw)).toMatchObject({
      type: "legacy",
      chainId: 1n,
      nonce: 9n,
      gasPrice: 20_000_000_000n,
      gasLimit: 21_000n,
      to: new Uint8Array(20).fill(0x35),
      value: 10n ** 18n,
      data: new Uint8Array(0),
      signature: { yParity: 0 },
      raw,
    });
  });

  const accessList = [
    { address: TOKEN, storageKeys: [new Uint8Array(32).fill(1), new Uint8Array(32)] },
    { address: TOKEN, storageKeys: [] },
  ];
  it.each<[string, UnsignedTransaction]>([
    ["legacy", legacy()],
    ["legacy from before EIP-155", legacy({ chainId: undefined })],
    ["legacy of chain 0", legacy({ chainId: 0n })],
    ["legacy with the highest v", legacy({ chainId: 2n ** 255n - 19n })],
    ["a contract creation", legacy({ to: undefined })],
    ["EIP-2930 with an empty access list", eip2930()],
    ["EIP-2930 with an access list", eip2930({ accessList })],
    ["EIP-1559", eip1559()],
    [
      "EIP-1559 with an access list, a tip above the fee and the longest chain id",
      eip1559({ accessList, chainId: 2n ** 256n - 1n, maxPriorityFeePerGas: 2n }),
    ],
    [
      "the highest nonce, gas and value",
      legacy({ nonce: 2n ** 64n - 2n, gasLimit: 2n ** 64n - 1n, value: 2n ** 256n - 1n }),
    ],
  ])("decodes the encoding of %s", (_, tx) => {
    const signed = byUser(tx);
    expect(decodeTransaction(signed.raw)).toEqual(signed);
  });

  it("returns views of the bytes it was given", () => {
    const { raw } = byUser(legacy());
    expect(decodeTransaction(raw).data.buffer).toBe(raw.buffer);
  });

  it.each([0x00, 0x03, 0x04, 0x05, 0x7f])("refuses type 0x%x as unsupported (D1)", (type) => {
    const error = refusal(decode(Uint8Array.of(type, ...byUser(eip1559()).raw.subarray(1))));
    expect(error).toMatchObject({ reason: "UNSUPPORTED_TYPE", code: "VALIDATION_FAILED", values: { type } });
  });

  it("refuses type 0x3f of the public chain with a reason of its own, if a well-formed list follows (D1)", () => {
    const { raw } = byUser(eip1559());
    const customTx = Uint8Array.of(0x3f, ...raw.subarray(1));
    const error = refusal(decode(customTx));
    expect(error).toMatchObject({ reason: "CUSTOM_TX_UNSUPPORTED", code: "VALIDATION_FAILED" });
    expect(error.message).toContain("two-dimensional nonces");
    expect(refusal(decode(customTx.subarray(0, -1))).code).toBe("PARSE_ERROR");
  });

  it.each([
    "0x00",
    "0x12",
    "0x7f",
    "0x0380",
    "0x0500",
    "0x05c1",
    "0x05c201",
    "0x05c281",
    "0x05c00a",
    "0x05c0c0",
    "0x05c28100",
    bytesToHex(new TextEncoder().encode("a text")),
  ])(
    "refuses %s as unreadable, because no well-formed list follows its first byte to the end (D2)",
    (hex) => {
      expect(refusal(decode(hexToBytes(hex))).code).toBe("PARSE_ERROR");
    },
  );

  it.each(["0x00c0", "0x05c0", "0x7fc3c2c101", "0x05c88381828382c0c103"])(
    "refuses %s as of an unsupported type, because a well-formed list follows its first byte (D2)",
    (hex) => {
      expect(refusal(decode(hexToBytes(hex))).reason).toBe("UNSUPPORTED_TYPE");
    },
  );

  it("reads past lists that are nested very deep", () => {
    const depth = 200_000;
    const nested = new Uint8Array(8 * depth);
    let start = nested.length;
    for (let i = 0; i < depth; i++) {
      const length = nested.length - start;
      const digits = length < 56 ? [] : bigIntToBytes(BigInt(length));
      start -= 1 + digits.length;
      nested[start] = (length < 56 ? 0xc0 + length : 0xf7 + digits.length) & 0xff;
      nested.set(digits, start + 1);
    }
    const raw = concatBytes(Uint8Array.of(0x05), nested.subarray(start));
    expect(refusal(decode(raw)).reason).toBe("UNSUPPORTED_TYPE");
    expect(refusal(decode(raw.subarray(0, -1))).code).toBe("PARSE_ERROR");
  });

  it.each<[string, Uint8Array, string]>([
    ["no bytes", new Uint8Array(0), "EMPTY_TRANSACTION"],
    ["a first byte of no list and no type", Uint8Array.of(0x80), "MALFORMED_RLP"],
    ["a first byte of no list and no type, 0xbf", Uint8Array.of(0xbf), "MALFORMED_RLP"],
    ["an empty list", Uint8Array.of(0xc0), "MALFORMED_RLP"],
    ["a type byte alone", Uint8Array.of(0x02), "MALFORMED_RLP"],
    ["a type byte before a text", Uint8Array.of(0x02, 0x80), "MALFORMED_RLP"],
    ["a byte after a legacy transaction", concatBytes(legacyBytes(), Uint8Array.of(0)), "MALFORMED_RLP"],
    ["a byte after a typed transaction", concatBytes(typedBytes(2), Uint8Array.of(0)), "MALFORMED_RLP"],
    ["a tenth field of a legacy transaction", legacyBytes({}, [0n]), "MALFORMED_RLP"],
    ["one field too many in a typed transaction", typedBytes(2, {}, [0n]), "MALFORMED_RLP"],
    ["a missing field", encodeRlp([0n, 0n, 0n, TOKEN, 0n, TOKEN]), "MALFORMED_RLP"],
    ["a list where data belongs", legacyBytes({ 5: [] }), "MALFORMED_RLP"],
    ["a text where the access list belongs", typedBytes(1, { 7: new Uint8Array(0) }), "MALFORMED_RLP"],
    ["an access list entry that is a text", typedBytes(1, { 7: [TOKEN] }), "MALFORMED_RLP"],
    ["an access list entry without keys", typedBytes(1, { 7: [[TOKEN]] }), "MALFORMED_RLP"],
    ["an access list entry with a third member", typedBytes(1, { 7: [[TOKEN, [], 0n]] }), "MALFORMED_RLP"],
    ["storage keys that are a text", typedBytes(1, { 7: [[TOKEN, new Uint8Array(0)]] }), "MALFORMED_RLP"],
    [
      "an access list address of 19 bytes",
      typedBytes(1, { 7: [[new Uint8Array(19), []]] }),
      "MALFORMED_TRANSACTION",
    ],
    [
      "a storage key of 31 bytes",
      typedBytes(1, { 7: [[TOKEN, [new Uint8Array(31)]]] }),
      "MALFORMED_TRANSACTION",
    ],
    [
      "a storage key of 33 bytes",
      typedBytes(1, { 7: [[TOKEN, [new Uint8Array(33)]]] }),
      "MALFORMED_TRANSACTION",
    ],
    ["an address of 19 bytes", legacyBytes({ 3: new Uint8Array(19) }), "MALFORMED_TRANSACTION"],
    ["an address of 21 bytes", legacyBytes({ 3: new Uint8Array(21) }), "MALFORMED_TRANSACTION"],
    ["a nonce of 9 bytes", legacyBytes({ 0: 2n ** 64n }), "MALFORMED_TRANSACTION"],
    ["a gas limit of 9 bytes", legacyBytes({ 2: 2n ** 64n }), "MALFORMED_TRANSACTION"],
    ["a gas price of 33 bytes", legacyBytes({ 1: 2n ** 256n }), "MALFORMED_TRANSACTION"],
    ["a value of 33 bytes", legacyBytes({ 4: 2n ** 256n }), "MALFORMED_TRANSACTION"],
    ["a v of 33 bytes", legacyBytes({ 6: 2n ** 256n }), "MALFORMED_TRANSACTION"],
    ["a chain id of 33 bytes", typedBytes(1, { 0: 2n ** 256n }), "MALFORMED_TRANSACTION"],
    ["an r of 33 bytes", legacyBytes({ 7: 2n ** 256n }), "MALFORMED_TRANSACTION"],
    ["an s of 33 bytes", typedBytes(2, { 11: 2n ** 256n }), "MALFORMED_TRANSACTION"],
    ["a nonce with a leading zero", legacyBytes({ 0: Uint8Array.of(0, 1) }), "NON_CANONICAL_RLP"],
    ["a nonce of 0 as a byte", legacyBytes({ 0: Uint8Array.of(0) }), "NON_CANONICAL_RLP"],
    ["a fee with a leading zero", typedBytes(2, { 2: Uint8Array.of(0, 1) }), "NON_CANONICAL_RLP"],
    ["a yParity of 0 as a byte", typedBytes(2, { 9: Uint8Array.of(0) }), "NON_CANONICAL_RLP"],
    ["an r with a leading zero", legacyBytes({ 7: Uint8Array.of(0, 1) }), "NON_CANONICAL_RLP"],
    ["an r of 32 bytes after a zero", legacyBytes({ 7: new Uint8Array(33).fill(1, 1) }), "NON_CANONICAL_RLP"],
    ["an s with a leading zero", typedBytes(1, { 10: Uint8Array.of(0, 1) }), "NON_CANONICAL_RLP"],
  ])("cannot parse %s (D2)", (_, bytes, reason) => {
    const error = refusal(decode(bytes));
    expect(error.reason).toBe(reason);
    expect(error.code).toBe("PARSE_ERROR");
  });

  it.each<[string, Uint8Array, string, string]>([
    [
      "the nonce 2^64 - 1 (EIP-2681)",
      legacyBytes({ 0: 2n ** 64n - 1n }),
      "NONCE_OUT_OF_RANGE",
      "18446744073709551615",
    ],
    ["an unsigned transaction", legacyBytes({ 6: 2201n, 7: 0n, 8: 0n }), "INVALID_SIGNATURE", "not signed"],
    ["r = 0", legacyBytes({ 7: 0n }), "INVALID_SIGNATURE", "r is not between"],
    ["r = n", legacyBytes({ 7: ORDER }), "INVALID_SIGNATURE", "r is not between"],
    ["s = 0", legacyBytes({ 8: 0n }), "INVALID_SIGNATURE", "s is not between"],
    ["s = n", legacyBytes({ 8: ORDER }), "INVALID_SIGNATURE", "s is not between"],
    ["s = n/2 + 1 (EIP-2)", legacyBytes({ 8: ORDER / 2n + 1n }), "HIGH_S_SIGNATURE", "half the order"],
    ["s = n - 1 (EIP-2)", typedBytes(2, { 11: ORDER - 1n }), "HIGH_S_SIGNATURE", "half the order"],
    ["v = 0", legacyBytes({ 6: 0n }), "INVALID_SIGNATURE", "v is 0"],
    ["v = 26", legacyBytes({ 6: 26n }), "INVALID_SIGNATURE", "v is 26"],
    ["v = 29", legacyBytes({ 6: 29n }), "INVALID_SIGNATURE", "v is 29"],
    ["v = 34", legacyBytes({ 6: 34n }), "INVALID_SIGNATURE", "v is 34"],
    ["yParity = 2", typedBytes(1, { 8: 2n }), "INVALID_SIGNATURE", "yParity is 2"],
    ["yParity = 27", typedBytes(2, { 9: 27n }), "INVALID_SIGNATURE", "yParity is 27"],
  ])("parses, but does not accept, %s (D2)", (_, bytes, reason, message) => {
    const error = refusal(decode(bytes));
    expect(error.reason).toBe(reason);
    expect(error.code).toBe("VALIDATION_FAILED");
    expect(error.message).toContain(message);
  });

  it.each<[string, Uint8Array]>([
    ["s = n/2", legacyBytes({ 8: ORDER / 2n })],
    ["r = n - 1", legacyBytes({ 7: ORDER - 1n })],
    ["v = 27", legacyBytes({ 6: 27n })],
    ["v = 35", legacyBytes({ 6: 35n })],
    ["v = 2^256 - 1", legacyBytes({ 6: 2n ** 256n - 1n })],
  ])("accepts %s", (_, bytes) => {
    const tx = decodeTransaction(bytes);
    expect(bytesToHex(encodeTransaction(tx, tx.signature))).toBe(bytesToHex(bytes));
  });

  it("reads the chain id and the parity from v = 35 + 2·chainId + parity", () => {
    expect(decodeTransaction(legacyBytes({ 6: 4437n }))).toMatchObject({
      chainId: 2201n,
      signature: { yParity: 0 },
    });
    expect(decodeTransaction(legacyBytes({ 6: 4438n }))).toMatchObject({
      chainId: 2201n,
      signature: { yParity: 1 },
    });
    expect(decodeTransaction(legacyBytes({ 6: 28n }))).toMatchObject({
      chainId: undefined,
      signature: { yParity: 1 },
    });
  });

  it("takes time in proportion to the length: 11 MB of access list within 10 seconds", () => {
    const entry = [TOKEN, [STORAGE_KEY]] as const;
    const raw = typedBytes(1, { 7: Array<RlpItem>(200_000).fill(entry) });
    const started = performance.now();
    const tx = decodeTransaction(raw);
    expect(tx.type !== "legacy" && tx.accessList.length).toBe(200_000);
    expect(bytesToHex(encodeTransaction(tx, tx.signature))).toBe(bytesToHex(raw));
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
