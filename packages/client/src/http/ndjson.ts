const NEWLINE = 0x0a;

/** The length limit of a line, in bytes. */
export const DEFAULT_MAX_LINE_BYTES = 1024 * 1024;

/**
 * Reads the values of a stream of newline-delimited JSON, each as soon as its line is complete.
 * Lines are split in the bytes before they are decoded, so a chunk may end anywhere, also inside a character.
 * The last line may lack its newline; blank lines are skipped. Leaving early cancels the stream.
 * @throws {@link NdjsonError} for a line that is not JSON or too long; errors of the stream itself pass through.
 */
export async function* readNdjson(
  stream: ReadableStream<Uint8Array>,
  maxLineBytes = DEFAULT_MAX_LINE_BYTES,
): AsyncGenerator<unknown, void, undefined> {
  const reader = stream.getReader();
  const line = new LineBuffer(maxLineBytes);
  let ended = false;
  try {
    for (;;) {
      const { done, value: chunk } = await reader.read();
      if (done) break;
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        line.append(chunk.subarray(start, end));
        start = end + 1;
        yield* parse(line.take(), "malformed");
      }
      line.append(chunk.subarray(start));
    }
    ended = true;
    yield* parse(line.take(), "truncated");
  } finally {
    if (!ended) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

/** Collects the chunks of one line, and joins them once when it is complete. */
class LineBuffer {
  #parts: Uint8Array[] = [];
  #length = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  append(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#length += part.length;
    if (this.#length > this.#maxBytes) {
      throw new NdjsonError("too_long", `a line is longer than ${this.#maxBytes} bytes`);
    }
    this.#parts.push(part);
  }

  take(): Uint8Array {
    const [first] = this.#parts;
    const line = this.#parts.length === 1 && first ? first : new Uint8Array(this.#length);
    if (this.#parts.length > 1) {
      let at = 0;
      for (const part of this.#parts) {
        line.set(part, at);
        at += part.length;
      }
    }
    this.#parts = [];
    this.#length = 0;
    return line;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Yields nothing for a blank line, and the value of any other. */
function* parse(line: Uint8Array, fault: "malformed" | "truncated"): Generator<unknown, void, undefined> {
  let value: unknown;
  try {
    const text = utf8.decode(line);
    if (text.trim() === "") return;
    value = JSON.parse(text);
  } catch (cause) {
    const what = fault === "malformed" ? "a line is not JSON" : "the last line breaks off";
    throw new NdjsonError(fault, what, { cause });
  }
  yield value;
}

/** Thrown for a line that cannot be read. `truncated`: the stream ended inside it. */
export class NdjsonError extends Error {
  override readonly name = "NdjsonError";
  readonly fault: "malformed" | "truncated" | "too_long";

  constructor(fault: NdjsonError["fault"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
