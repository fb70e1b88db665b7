import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PRICES } from "../model/prices.js";
import { LoopQueue } from "./loopQueue.js";
import { ExactNumber, MAX_BYTES_AT_ONCE, parseInSlices, parseJson, type RunSlice } from "./slicedJson.js";

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

describe("the ids of requests", () => {
  const ID = "9007199254740993";
  const run: RunSlice = async (_, slice) => slice();
  const idsIn = (message: unknown) =>
    [message].flat().map((request) => {
      const id: unknown = (request as { readonly id?: unknown } | null)?.id;
      return id instanceof ExactNumber ? id.text : id;
    });

  it.each([
    [`{"id":${ID}}`, [ID]],
    [`{ "\\u0069d" : -${ID} , "params":[{"id":1}]}`, [`-${ID}`]],
    [`{"params":[{"id":1e99},"id",":","\\"id\\":2"],"id":1.50}`, ["1.50"]],
    [`{"id":1,"id":${ID}}`, [ID]],
    [`{"id":${ID},"id":"a"}`, ["a"]],
    [
      `[{"id":${ID}},7,"id",["id",{"id":5}],null,{"id":"x"},{},{"id":1e999}]`,
      [...[ID, undefined, undefined, undefined, undefined], ...["x", undefined, "1e999"]],
    ],
  ])("in %s are those that the client wrote, in a message of any size", async (text, ids) => {
    expect(idsIn(await parseJson(Buffer.from(text), run))).toEqual(ids);
    const large = Buffer.from(text.replace(/^./, `$&${" ".repeat(MAX_BYTES_AT_ONCE - 2)}`));
    expect(idsIn(await parseJson(large, run))).toEqual(ids);
  });

  it("alone are exact, and not those in their parameters", async () => {
    const text = `{"id":${ID},"params":[{"id":1e99}],"n":1.5}`;
    const message = await parseJson(Buffer.from(text), run);
    expect(message).toEqual({ id: new ExactNumber(ID), params: [{ id: 1e99 }], n: 1.5 });
  });
});
