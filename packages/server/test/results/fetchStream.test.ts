// D14: a client reads the stream of results incrementally, splits on newlines, and parses each line as JSON. The client
// here is `fetch` with its defaults, which accepts gzip. It parses each chunk alone, and keeps no rest for the next one.
import { parseResultLine, type ResultLine } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { GOOD_HEADERS, testServices } from "../support/testService.js";
import { innerOf } from "../support/user.js";

const services = testServices();
const shared = services.shared();

interface Streamed {
  readonly headers: Headers;
  readonly lines: readonly ResultLine[];
  readonly chunks: number;
}

/** Submits, and splits each chunk on newlines. @throws if a chunk contains anything but whole lines. */
async function fetchLines(
  url: string,
  transactions: readonly string[],
  onChunk: (chunk: number) => unknown = () => {},
): Promise<Streamed> {
  const body = JSON.stringify({ transactions });
  const response = await fetch(`${url}/v1/submit`, { method: "POST", headers: GOOD_HEADERS, body });
  const lines: ResultLine[] = [];
  let chunks = 0;
  for await (const chunk of response.body ?? []) {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(chunk);
    expect(text.endsWith("\n")).toBe(true);
    for (const line of text.slice(0, -1).split("\n")) lines.push(parseResultLine(JSON.parse(line)));
    await onChunk(++chunks);
  }
  return { headers: response.headers, lines, chunks };
}

function indexesOf({ lines }: Streamed): number[] {
  return lines.map(({ index }) => index).sort((a, b) => a - b);
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
/** A transaction whose refusal has one of the longest messages. Each `i` gives another selector. */
const refused = (i: number) => innerOf(i + 1, 0, { data: Uint8Array.of(1, 2, i >> 8, i & 0xff) });

describe("the stream of results, read by fetch with its defaults", () => {
  it.each([1, 2, 3, 7, 25, 26, 50, 99, 100])("has %d whole lines of errors", async (count) => {
    const streamed = await fetchLines(shared().url, upTo(count).map(refused));
    expect(indexesOf(streamed)).toEqual(upTo(count));
    expect(streamed.lines.every(({ success }) => !success)).toBe(true);
    expect(streamed.headers.get("content-encoding")).toBeNull();
    expect(streamed.headers.get("cache-control")).toBe("no-store, no-transform");
  });

  it.each([1, 3, 26, 100])("has %d whole lines of success", async (count) => {
    const service = await services.start();
    const streamed = await fetchLines(
      service.url,
      upTo(count).map((i) => innerOf(i + 1)),
    );
    expect(indexesOf(streamed)).toEqual(upTo(count));
    expect(streamed.lines.every(({ success }) => success)).toBe(true);
  });

  it("has whole lines when they come one by one, success and error in turn", async () => {
    const service = await services.start();
    const first = deferred();
    service.node.holdSends(first.promise);
    const batch = upTo(40).map((i) => (i % 2 === 0 ? innerOf(i + 1) : refused(i)));
    const streamed = await fetchLines(service.url, batch, (chunk) => chunk === 1 && first.resolve());
    expect(indexesOf(streamed)).toEqual(upTo(40));
    expect(streamed.lines.filter(({ success }) => success)).toHaveLength(20);
    expect(streamed.chunks).toBeGreaterThan(1);
  });

  it("has whole lines for a client that reads slowly", async () => {
    const pause = () => new Promise<void>((resolve) => setImmediate(resolve));
    const streamed = await fetchLines(shared().url, upTo(100).map(refused), pause);
    expect(indexesOf(streamed)).toEqual(upTo(100));
  });
});
