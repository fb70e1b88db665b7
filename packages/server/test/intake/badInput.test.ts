// Malformed input: a bad transaction fails in its own line, a bad request is refused whole (D21).
import {
  bytesToHex,
  decodeInnerTx,
  decodeTransaction,
  encodeTransaction,
  hexToBytes,
  MARKER_ADDRESS,
  signTransaction,
  signWrapperTxWithKey,
} from "@gas-waiver/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { outcomeOf, testServices } from "../support/testService.js";
import { APPROVE, innerOf, TOKEN, userKey, WAIVER_KEY } from "../support/user.js";

const services = testServices();

/** Replaces the signature's s by the other valid value, which is above half of the curve's order. */
function highS(raw: string): string {
  const tx = decodeTransaction(hexToBytes(raw));
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = order - BigInt(bytesToHex(tx.signature.compact.subarray(32)));
  const compact = Uint8Array.from(tx.signature.compact);
  compact.set(hexToBytes(`0x${s.toString(16).padStart(64, "0")}`), 32);
  return bytesToHex(encodeTransaction(tx, { compact, yParity: tx.signature.yParity === 0 ? 1 : 0 }));
}

/** A transaction whose signature names no chain (EIP-155). */
function unprotectedInner(): string {
  const { type, nonce, gasPrice, gasLimit, to, value, data } = decodeTransaction(
    hexToBytes(innerOf(1)),
  ) as never as Extract<ReturnType<typeof decodeTransaction>, { type: "legacy" }>;
  const tx = { type, chainId: undefined, nonce, gasPrice, gasLimit, to, value, data };
  return bytesToHex(signTransaction(tx, userKey(1)).raw);
}

/** A call with this number of storage keys in its access list. */
function withAccessList(keys: number): string {
  const storageKeys = Array.from({ length: keys }, () => new Uint8Array(32).fill(9));
  const fields = {
    chainId: 2201n,
    nonce: 0n,
    gasPrice: 0n,
    gasLimit: 10_000_000n,
    to: TOKEN,
    value: 0n,
  } as const;
  const tx = {
    ...fields,
    type: "eip2930",
    data: APPROVE,
    accessList: [{ address: TOKEN, storageKeys }],
  } as const;
  return bytesToHex(signTransaction(tx, userKey(1)).raw);
}

function blob(): string {
  return `0x03${innerOf(1).slice(2)}`;
}

const good = innerOf(1);
const inner = decodeInnerTx(hexToBytes(good));

const LINES: readonly (readonly [name: string, transaction: string, outcome: string])[] = [
  ["an empty string", "", "PARSE_ERROR/EMPTY_TRANSACTION"],
  ["0x alone", "0x", "PARSE_ERROR/EMPTY_TRANSACTION"],
  ["hex without 0x", good.slice(2), "PARSE_ERROR/INVALID_HEX"],
  ["hex of odd length", good.slice(0, -1), "PARSE_ERROR/INVALID_HEX"],
  ["a letter that is not a hex digit", `${good.slice(0, -1)}g`, "PARSE_ERROR/INVALID_HEX"],
  ["truncated RLP", good.slice(0, -2), "PARSE_ERROR/MALFORMED_RLP"],
  ["padded RLP", `${good}00`, "PARSE_ERROR/MALFORMED_RLP"],
  ["the byte 0x12", "0x12", "PARSE_ERROR/MALFORMED_RLP"],
  ["the byte 0x7f", "0x7f", "PARSE_ERROR/MALFORMED_RLP"],
  ["a text as hex", bytesToHex(new TextEncoder().encode("hello world")), "PARSE_ERROR/MALFORMED_RLP"],
  ["an unknown type before a list", "0x05c0", "VALIDATION_FAILED/UNSUPPORTED_TYPE"],
  ["a leading zero in an integer", "0xc88200018080808080", "PARSE_ERROR"],
  ["another chain's id", innerOf(1, 0, { chainId: 988n }), "VALIDATION_FAILED/WRONG_CHAIN_ID"],
  ["a gas price of 1", innerOf(1, 0, { gasPrice: 1n }), "VALIDATION_FAILED/NON_ZERO_GAS_PRICE"],
  ["a signature from before EIP-155", unprotectedInner(), "VALIDATION_FAILED/UNPROTECTED_SIGNATURE"],
  ["a high-s signature", highS(good), "VALIDATION_FAILED/HIGH_S_SIGNATURE"],
  ["a blob transaction", blob(), "VALIDATION_FAILED/UNSUPPORTED_TYPE"],
  ["contract creation", innerOf(1, 0, { to: undefined }), "VALIDATION_FAILED/CONTRACT_CREATION"],
  ["another target", innerOf(1, 0, { to: userAddressBytes() }), "VALIDATION_FAILED/TARGET_NOT_ALLOWED"],
  [
    "another selector",
    innerOf(1, 0, { data: Uint8Array.of(1, 2, 3, 4) }),
    "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
  ],
  ["no selector", innerOf(1, 0, { data: APPROVE.subarray(0, 3) }), "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"],
  ["a call of the marker", innerOf(1, 0, { to: MARKER_ADDRESS }), "VALIDATION_FAILED/TARGET_IS_MARKER"],
  [
    "a wrapper as inner",
    bytesToHex(signWrapperTxWithKey(inner, WAIVER_KEY, { nonce: 0n }).raw),
    "VALIDATION_FAILED/TARGET_IS_MARKER",
  ],
  ["gas below intrinsic", innerOf(1, 0, { gasLimit: 21_000n }), "VALIDATION_FAILED/GAS_LIMIT_TOO_LOW"],
  ["too much gas", innerOf(1, 0, { gasLimit: 10_000_001n }), "VALIDATION_FAILED/GAS_LIMIT_TOO_HIGH"],
  [
    "too much calldata",
    innerOf(1, 0, { data: new Uint8Array(130_787), gasLimit: 9_000_000n }),
    "VALIDATION_FAILED/DATA_TOO_LONG",
  ],
  [
    "a wrapper that geth finds oversized, for its access list",
    withAccessList(3_970),
    "VALIDATION_FAILED/TRANSACTION_TOO_LARGE",
  ],
  ["a nonce of 2^64-1", innerOf(1, 2n ** 64n - 1n), "VALIDATION_FAILED/NONCE_OUT_OF_RANGE"],
];

function userAddressBytes(): Uint8Array {
  return Uint8Array.from(TOKEN).fill(0x11, 0, 4);
}

describe("a bad transaction", () => {
  let outcomes: string[] = [];
  let executed = 0;
  let messages: string[] = [];
  beforeAll(async () => {
    const service = await services.start();
    const lines = await service.submit([...LINES.map(([, transaction]) => transaction), good]);
    outcomes = lines.map(outcomeOf);
    messages = lines.flatMap((line) => (line.success ? [] : [line.error.message]));
    executed = service.node.chain.executed.length;
  });

  it.each(LINES.map(([name, , outcome], i) => ({ name, outcome, i })))(
    "$name: $outcome",
    ({ i, outcome }) => {
      expect(outcomes[i]).toMatch(outcome);
    },
  );

  it("does not affect a good one of the same batch", () => {
    expect(outcomes.at(-1)).toBe("success");
    expect(executed).toBe(1);
  });

  it("gets the values involved in its message", () => {
    const allMessages = messages.join("\n");
    for (const value of ["988", "2201", "21000", "10000001", "130787", "130786", "0x01020304"]) {
      expect(allMessages).toContain(value);
    }
  });
});

const REQUESTS: readonly (readonly [name: string, body: string, status: number, reason: string])[] = [
  ["malformed JSON", '{"transactions": [', 400, "MALFORMED_JSON"],
  ["no body", "", 400, "MALFORMED_JSON"],
  ["an array as body", "[]", 400, "MALFORMED_BODY"],
  ["null", "null", 400, "MALFORMED_BODY"],
  ["no transactions", "{}", 400, "MALFORMED_BODY"],
  ["transactions that are not an array", '{"transactions": "0x"}', 400, "MALFORMED_BODY"],
  ["an empty array", '{"transactions": []}', 400, "EMPTY_BATCH"],
  ["a number in the array", `{"transactions": ["${good}", 7]}`, 400, "MALFORMED_BODY"],
  ["null in the array", '{"transactions": [null]}', 400, "MALFORMED_BODY"],
  ["an array in the array", '{"transactions": [["0x"]]}', 400, "MALFORMED_BODY"],
  ["__proto__", `{"__proto__": {"transactions": ["${good}"]}}`, 400, "MALFORMED_BODY"],
  [
    "constructor.prototype",
    `{"constructor": {"prototype": {"transactions": ["${good}"]}}}`,
    400,
    "MALFORMED_BODY",
  ],
  ["101 transactions", JSON.stringify({ transactions: Array(101).fill(good) }), 413, "BATCH_TOO_LARGE"],
];

describe("a bad request", () => {
  const shared = services.shared();

  it("is refused whole with its reason, accepts nothing, and does not affect other requests", async () => {
    const service = await services.start();
    for (const [name, body, status, reason] of REQUESTS) {
      const reply = await service.post(body);
      const { error } = JSON.parse(reply.text) as { error: Record<string, string> };
      expect([name, reply.status], reply.text).toEqual([name, status]);
      expect(Object.keys(error)).toEqual(["code", "message", "reason", "details"]);
      expect(error.code).toBe(reason === "BATCH_TOO_LARGE" ? "BATCH_SIZE_EXCEEDED" : "INVALID_REQUEST");
      expect(error.reason, name).toMatch(reason);
    }
    expect(await service.rows()).toEqual([]);
    expect((await service.submit([good])).map(outcomeOf)).toEqual(["success"]);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])(
    "of content type %j: 415",
    async (type) => {
      const service = shared();
      const reply = await service.post(JSON.stringify({ transactions: [good] }), {
        headers: { "content-type": type },
      });
      expect(reply.status).toBe(415);
      expect(JSON.parse(reply.text).error).toMatchObject({
        code: "INVALID_REQUEST",
        reason: "UNSUPPORTED_MEDIA_TYPE",
      });
    },
  );

  it("may have a charset, and repeated members, of which the last counts as in JSON.parse", async () => {
    const service = shared();
    const body = `{"transactions": ["0x"], "other": 1, "transactions": ["${good}"]}`;
    const reply = await service.post(body, {
      headers: { "content-type": "application/json; charset=utf-8" },
    });
    expect(reply.text).toMatch(/^\{"index":0,.*"success":true,[^\n]*\}\n$/);
  });

  it("of 40 MB gets 413, and the next good request works", async () => {
    const service = shared();
    const body = `{"transactions": ["0x${"00".repeat(20_000_000)}"]}`;
    const reply = await service.post(body);
    expect(reply.status).toBe(413);
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "INVALID_REQUEST", reason: "BODY_TOO_LARGE" });
    expect((await service.submit([good])).map(outcomeOf)).toEqual(["success"]);
  });

  it("of 40 MB without a declared length gets 413", async () => {
    const service = shared();
    const body = `{"transactions": ["0x${"00".repeat(20_000_000)}"]}`;
    const reply = await service.post(body, { headers: { "transfer-encoding": "chunked" } });
    expect(reply.status).toBe(413);
  });
});

describe("members of the body that the service does not know", () => {
  it.each(["__proto__", "constructor", "more"])("are ignored: %s", async (name) => {
    const service = await services.start();
    const reply = await service.post(
      `{"${name}":{"prototype":{"transactions":[]}},"transactions":["${good}"]}`,
    );
    expect([reply.status, JSON.parse(reply.text).success]).toEqual([200, true]);
  });
});
