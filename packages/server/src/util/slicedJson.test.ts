import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PRICES } from "../model/prices.js";
import { LoopQueue } from "./loopQueue.js";
import { MAX_BYTES_AT_ONCE, parseInSlices, parseJson, type RunSlice } from "./slicedJson.js";

const loop = new LoopQueue();
const turnsOf =
  (party: string): RunSlice =>
  (bytes, slice) =>
    loop.run(party, bytes * PRICES.parsedByte, slice);
const parse = (text: string) => parseInSlices(Buffer.from(text), turnsOf("party"));

describe("JSON that is parsed in slices", () => {
  it("has the values that JSON.parse finds, however it is written", async () => {
    const values = fc.jsonValue({ maxDepth: 6 });
    await fc.assert(
      fc.asyncProperty(values, fc.constantFrom(undefined, 1, "\t"), async (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        if (/"(__proto__|constructor)"/.test(text)) return;
        expect(await parse(text)).toStrictEqual(JSON.parse(text));
      }),
    );
  });

  it("is refused where JSON.parse refuses it", async () => {
    const pieces = [
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"\\u00e9"',
      '"\\x"',
      "1",
      "-",
      "01",
      "true",
      "nul",
      " ",
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), async (parts) => {
        const text = parts.join("");
        let whole: unknown;
        try {
          whole = JSON.parse(text);
        } catch {
          await expect(parse(text)).rejects.toThrow(SyntaxError);
          return;
        }
        expect(await parse(text)).toStrictEqual(whole);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["characters of several bytes", "aé€😀".repeat(60_000)],
    ["escapes", '\\"\u0007é'.repeat(60_000)],
    ["surrogates as escapes", "\\ud83d\\ude00".repeat(30_000), true],
  ])("keeps long texts of %s whole", async (_, characters, isEscaped = false) => {
    const text = isEscaped ? `["${characters}"]` : JSON.stringify([characters]);
    expect(await parse(text)).toEqual(JSON.parse(text));
  });

  it("leaves out members that could become a prototype, and a byte order mark", async () => {
    expect(
      await parse('\ufeff{"__proto__":{"a":1},"constructor":{"prototype":1},"b":[{"__proto__":2}]}'),
    ).toEqual({
      b: [{}],
    });
  });

  it("is refused if it has very many values, or ends too early", async () => {
    await expect(parse(`[${"[],".repeat(250_000)}[]]`)).rejects.toMatchObject({ reason: "MALFORMED_BODY" });
    await expect(parse(`{"a":"${"b".repeat(MAX_BYTES_AT_ONCE)}`)).rejects.toThrow(SyntaxError);
  });

  it("lets the event loop turn, whatever takes its time", async () => {
    const long = "b".repeat(2_000_000);
    for (const text of [
      `["${long}"]`,
      `[${`"${long.slice(0, 60_000)}",`.repeat(35)}1]`,
      `[${"{},".repeat(100_000)}1]`,
      `${"[".repeat(99_999)}${"]".repeat(99_999)}`,
    ]) {
      let turns = 0;
      const counting = () => {
        turns++;
        next = setImmediate(counting);
      };
      let next = setImmediate(counting);
      await parse(text);
      clearImmediate(next);
      expect(turns).toBeGreaterThan(10);
    }
  });

  it("takes turns with the JSON of other parties, however many texts one of them has", async () => {
    const log: string[] = [];
    const parseOf = async (party: string, bytes: number) => {
      await parseInSlices(Buffer.from(`["${"a".repeat(bytes)}"]`), turnsOf(party));
      log.push(party);
    };
    const flood = Array.from({ length: 10 }, () => parseOf("flood", 3_000_000));
    await Promise.all([...flood, parseOf("other", 2_000_000)]);
    expect(log[0]).toBe("other");
  });
});

describe("JSON of any size", () => {
  const listOf = (objects: number) => Buffer.from(`[${"{},".repeat(objects)}0]`);

  it.each([100, 100_000])(
    "of %d objects counts the memory of its values, and stops where there is no room",
    async (objects) => {
      let counted = 0;
      await parseJson(listOf(objects), turnsOf("counted"), (bytes) => {
        counted += bytes;
      });
      expect(counted).toBeGreaterThan(56 * objects);
      const noRoom = () => {
        throw new Error("no room");
      };
      await expect(parseJson(listOf(objects), turnsOf("counted"), noRoom)).rejects.toThrow("no room");
    },
  );

  it("is charged to its party for the time that it takes, if it is small too", async () => {
    const charged: number[] = [];
    let now = 0;
    class CountingLoop extends LoopQueue {
      override run<T>(party: string, price: number, work: () => T): Promise<T> {
        charged.push(price);
        return super.run(party, price, work);
      }
    }
    const counting = new CountingLoop({ now: () => now++ });
    await parseJson(listOf(10), (bytes, slice) => counting.run("a", bytes * PRICES.parsedByte, slice));
    expect(charged).toEqual([listOf(10).length * PRICES.parsedByte]);
  });
});
