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
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  /** The part of the line that has come, and its length. */
  let line = "";
  let bytes = 0;
  const append = (part: Uint8Array, isEnd: boolean) => {
    bytes += part.length;
    if (bytes > maxLineBytes)
      throw new NdjsonError("too_long", `a line is longer than ${maxLineBytes} bytes`);
    line += utf8.decode(part, { stream: !isEnd });
  };
  /** Yields nothing for a blank line, and the value of any other. */
  const end = (part: Uint8Array) => {
    append(part, true);
    const text = line;
    line = "";
    bytes = 0;
    return text.trim() === "" ? [] : [JSON.parse(text) as unknown];
  };
  let ended = false;
  try {
    for (;;) {
      const { done, value: chunk } = await reader.read();
      if (done) break;
      let start = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, start)) {
        const part = chunk.subarray(start, at);
        start = at + 1;
        yield* read("malformed", () => end(part));
      }
      read("malformed", () => append(chunk.subarray(start), false));
    }
    ended = true;
    yield* read("truncated", () => end(new Uint8Array()));
  } finally {
    if (!ended) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

function read<T>(fault: "malformed" | "truncated", parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (cause instanceof NdjsonError) throw cause;
    const what = fault === "malformed" ? "a line is not JSON" : "the last line breaks off";
    throw new NdjsonError(fault, what, { cause });
  }
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
