import { describe, expect, it } from "vitest";
import { refusal } from "../../test/support/fixtures.js";
import { bytesToHex, hexToBytes } from "./hex.js";
import { encodeRlp, type RlpItem, RlpReader } from "./rlp.js";

const hex = (item: RlpItem) => bytesToHex(encodeRlp(item));
const text = (string: string) => new TextEncoder().encode(string);
const reader = (bytes: string) => new RlpReader(hexToBytes(bytes));

describe("encodeRlp", () => {
  // The examples of the Ethereum wiki.
  it.each<[string, RlpItem, string]>([
    ["a short text", text("dog"), "0x83646f67"],
    ["a list of texts", [text("cat"), text("dog")], "0xc88363617483646f67"],
    ["the empty text", text(""), "0x80"],
    ["the empty list", [], "0xc0"],
    ["the number 0 as no bytes", 0n, "0x80"],
    ["the byte 0 as itself", Uint8Array.of(0), "0x00"],
    ["the number 15 as itself", 15n, "0x0f"],
    ["the number 1024 as two bytes", 1024n, "0x820400"],
    ["the byte 0x7f as itself", Uint8Array.of(0x7f), "0x7f"],
    ["the byte 0x80 with a prefix", Uint8Array.of(0x80), "0x8180"],
    ["the set-theoretical three", [[], [[]], [[], [[]]]], "0xc7c0c1c0c3c0c1c0"],
    ["55 bytes in the short form", new Uint8Array(55), `0xb7${"00".repeat(55)}`],
    ["56 bytes in the long form", new Uint8Array(56), `0xb838${"00".repeat(56)}`],
    ["256 bytes with a length of two bytes", new Uint8Array(256), `0xb90100${"00".repeat(256)}`],
    ["a list of 56 bytes in the long form", Array(56).fill(1n), `0xf838${"01".repeat(56)}`],
    ["a number of more than 256 bits", 2n ** 264n, `0xa2${"01".padEnd(68, "0")}`],
  ])("writes %s", (_, item, expected) => {
    expect(hex(item)).toBe(expected);
  });

  it("refuses a negative number", () => {
    expect(() => encodeRlp(-1n)).toThrow(RangeError);
  });

  it("writes a list of 300,000 items, more than the stack takes as arguments", () => {
    const items = Array<RlpItem>(300_000).fill(Uint8Array.of(1));
    expect(encodeRlp(items).length).toBe(300_004);
  });
});

describe("RlpReader", () => {
  it("reads items in order and knows when it is done", () => {
    const list = reader("0xc883636174820400c0").list("pair");
    expect(list.bytes("name")).toEqual(text("cat"));
    expect(list.integer("count", 8)).toBe(1024n);
    expect(list.done).toBe(false);
    expect(list.list("nothing").done).toBe(true);
    list.finish("pair");
    expect(list.done).toBe(true);
  });

  it("returns views of what it was given, not copies", () => {
    const bytes = hexToBytes("0x83646f67");
    expect(new RlpReader(bytes).bytes("text").buffer).toBe(bytes.buffer);
  });

  const read: Record<string, (input: RlpReader) => unknown> = {
    bytes: (input) => input.bytes("x"),
    list: (input) => input.list("x"),
    integer: (input) => input.integer("x", 8),
  };

  it.each([
    ["nothing at all", "bytes", "0x", "MALFORMED_RLP", 0],
    ["a text where a list belongs", "list", "0x83646f67", "MALFORMED_RLP", 1],
    ["a list where a text belongs", "bytes", "0xc0", "MALFORMED_RLP", 1],
    ["a text that is cut off", "bytes", "0x83646f", "MALFORMED_RLP", 1],
    ["a list that is cut off", "list", "0xc20f", "MALFORMED_RLP", 1],
    ["a length that is cut off", "bytes", "0xb901", "MALFORMED_RLP", 0],
    ["a length of 2^64 - 1", "bytes", "0xbfffffffffffffffff", "MALFORMED_RLP", 9],
    ["a list with a length of 2^64 - 1", "list", "0xffffffffffffffffff", "MALFORMED_RLP", 9],
    ["a prefix on a byte below 0x80", "bytes", "0x817f", "NON_CANONICAL_RLP", 0],
    ["a prefix on the byte 0", "integer", "0x8100", "NON_CANONICAL_RLP", 0],
    ["a long form of 55 bytes", "bytes", `0xb837${"aa".repeat(55)}`, "NON_CANONICAL_RLP", 0],
    ["a long form of a list of 55 bytes", "list", `0xf837${"aa".repeat(55)}`, "NON_CANONICAL_RLP", 0],
    ["a length that begins with 0", "bytes", `0xb90038${"aa".repeat(56)}`, "NON_CANONICAL_RLP", 0],
    ["an integer with a leading zero", "integer", "0x820001", "NON_CANONICAL_RLP", 0],
    ["the integer 0 as a byte", "integer", "0x00", "NON_CANONICAL_RLP", 0],
    ["an integer of too many bytes", "integer", `0x89${"ff".repeat(9)}`, "MALFORMED_TRANSACTION", 0],
  ])("refuses %s, and says where", (_, how, bytes, reason, offset) => {
    const error = refusal(() => read[how]?.(reader(bytes)));
    expect(error.reason).toBe(reason);
    expect(error.code).toBe("PARSE_ERROR");
    expect(error.values.offset).toBe(offset);
    expect(error.message).toContain("x");
  });

  describe("past a list of any depth", () => {
    const skip = (bytes: string) => {
      const input = reader(bytes);
      input.skipList("x");
      return input;
    };

    it.each([
      ["an empty list", "0xc0"],
      ["single bytes, the largest of them too", "0xc3007f01"],
      ["texts and lists in turn", "0xcac0820400c4c08180c080"],
      ["a list at the end of lists", "0xc3c2c1c0"],
    ])("reads %s, and then the next item", (_, list) => {
      const input = skip(`${list}8203e8`);
      expect(input.integer("next", 8)).toBe(1000n);
      expect(input.done).toBe(true);
    });

    it.each([
      ["a text", "0x820400", "MALFORMED_RLP"],
      ["a list that is cut off inside", "0xc2c201", "MALFORMED_RLP"],
      ["a prefix on a byte, in an inner list", "0xc3c28101", "NON_CANONICAL_RLP"],
      ["a prefix on a byte, behind an inner list", "0xc3c08101", "NON_CANONICAL_RLP"],
      ["a text that runs past its list into the next item", "0xc4c183010203", "MALFORMED_RLP"],
    ])("refuses %s", (_, bytes, reason) => {
      expect(refusal(() => skip(bytes)).reason).toBe(reason);
    });
  });

  it("takes 0x80 for no bytes, and for the integer 0", () => {
    expect(reader("0x80").bytes("x")).toEqual(new Uint8Array(0));
    expect(reader("0x80").integer("x", 8)).toBe(0n);
  });

  it("takes the byte 0x80 behind its prefix, and a list of one small byte", () => {
    expect(reader("0x8180").bytes("x")).toEqual(Uint8Array.of(0x80));
    expect(reader("0xc101").list("x").bytes("x")).toEqual(Uint8Array.of(1));
  });

  it("takes integers of the most bytes, and counts the bytes that follow", () => {
    expect(reader("0x88ffffffffffffffff").integer("x", 8)).toBe(2n ** 64n - 1n);
    const input = reader("0x01020304");
    input.bytes("x");
    expect(refusal(() => input.finish("x"))).toMatchObject({ values: { offset: 1, extra: 3 } });
  });

  it("refuses bytes after the last item", () => {
    const list = reader("0xc20f0f");
    const inside = list.list("list");
    inside.bytes("first");
    const error = refusal(() => inside.finish("the first"));
    expect(error.reason).toBe("MALFORMED_RLP");
    expect(error.values).toEqual({ offset: 2, extra: 1 });
    list.finish("list");
  });

  it("does not read past the end of the list it is in", () => {
    const list = reader("0xc0830f0f0f").list("list");
    expect(refusal(() => list.bytes("x")).reason).toBe("MALFORMED_RLP");
    const short = reader("0xc183646f67").list("list");
    expect(refusal(() => short.bytes("x")).reason).toBe("MALFORMED_RLP");
  });

  it("counts offsets from the start of all bytes, also inside lists", () => {
    const list = reader("0xc50f0f820001").list("list");
    list.bytes("first");
    list.bytes("second");
    expect(refusal(() => list.integer("third", 8)).values.offset).toBe(3);
  });

  it("reads 1,000 nested lists without recursion", () => {
    let item: RlpItem = [];
    for (let depth = 0; depth < 1_000; depth++) item = [item];
    let inner = new RlpReader(encodeRlp(item));
    for (let depth = 0; depth <= 1_000; depth++) inner = inner.list("list");
    expect(inner.done).toBe(true);
  });
});
