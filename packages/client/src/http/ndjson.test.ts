import { describe, expect, it } from "vitest";
import { NdjsonError, readNdjson } from "./ndjson.js";

const TEXT = '{"a":"Grüße 🙂"}\n\n  \r\n[1,2]\r\n"без новой строки"';
const VALUES = [{ a: "Grüße 🙂" }, [1, 2], "без новой строки"];

const bytes = (text: string) => new TextEncoder().encode(text);

function streamOf(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function collect(stream: ReadableStream<Uint8Array>, maxLineBytes?: number): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of readNdjson(stream, maxLineBytes)) values.push(value);
  return values;
}

describe("readNdjson", () => {
  it("yields the same values wherever the bytes are split", async () => {
    const all = bytes(TEXT);
    for (let at = 0; at <= all.length; at++) {
      expect(await collect(streamOf(all.subarray(0, at), all.subarray(at)))).toEqual(VALUES);
    }
    const single = Array.from(all, (byte) => Uint8Array.of(byte));
    expect(await collect(streamOf(...single))).toEqual(VALUES);
  });

  it("yields nothing for an empty stream", async () => {
    expect(await collect(streamOf())).toEqual([]);
  });

  it("yields a value before the next line has come", async () => {
    let push: (text: string) => void = () => undefined;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        push = (text) => controller.enqueue(bytes(text));
      },
    });
    const values = readNdjson(stream);
    push('1\n{"half":');
    expect(await values.next()).toEqual({ done: false, value: 1 });
    push("2}\n");
    expect(await values.next()).toEqual({ done: false, value: { half: 2 } });
    await values.return();
  });

  it("cancels the stream when the reader leaves", async () => {
    let cancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes("1\n2\n")),
      cancel() {
        cancelled = true;
      },
    });
    for await (const value of readNdjson(stream)) {
      expect(value).toBe(1);
      break;
    }
    expect(cancelled).toBe(true);
    expect(stream.locked).toBe(false);
  });

  it.each([
    ["a line that is not JSON", bytes("1\n{oops\n2\n"), "malformed"],
    ["a line that is not UTF-8", Uint8Array.of(0x22, 0xff, 0x22, 0x0a), "malformed"],
    ["a last line that breaks off", bytes('1\n{"a":'), "truncated"],
    ["a last line that breaks off inside a character", bytes('"🙂').subarray(0, 3), "truncated"],
    ["a line above the limit", bytes("1".repeat(65)), "too_long"],
  ] as const)("refuses %s", async (_, input, fault) => {
    const error = await collect(streamOf(input), 64).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NdjsonError);
    expect(error).toMatchObject({ fault });
  });

  it("accepts a line of exactly the limit", async () => {
    expect(await collect(streamOf(bytes(`"${"x".repeat(62)}"\n`)), 64)).toEqual(["x".repeat(62)]);
  });

  it("passes on the errors of the stream", async () => {
    const broken = new Error("reset");
    const stream = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(broken) });
    await expect(collect(stream)).rejects.toBe(broken);
  });
});
