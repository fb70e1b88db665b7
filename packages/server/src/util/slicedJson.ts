import { assertFewValues, MAX_JSON_VALUES, ProtocolError } from "@gas-waiver/protocol";

/** Bytes of JSON that are parsed or written in one turn of the event loop. More may take milliseconds, for which everybody would wait. */
export const MAX_BYTES_AT_ONCE = 65_536;
/** The memory of a value beside its text: an empty object has 56 bytes, which two characters stand for. */
const BYTES_OF_VALUE = 64;

/** Runs a slice of so many bytes when it is the turn of the bytes' party. */
export type RunSlice = <T>(bytes: number, slice: () => T) => Promise<T>;

/** Counts the memory of the values that a text is parsed into. @throws if there is no room for so many more bytes. */
export type ReserveMemory = (bytes: number) => void;
const UNCOUNTED: ReserveMemory = () => {};

/** A number as its client wrote it, which JavaScript would round. */
export class ExactNumber {
  constructor(readonly text: string) {}
}

/**
 * Parses JSON as `JSON.parse` does, a slice at a time. Members named `__proto__` and `constructor` are left out, and ids of requests
 * are exact: nodes answer with the very bytes of an id, and clients in other languages have integers of 64 bits.
 *
 * `@streamparser/json` does the same, and takes 40 times the processor time where a text is written as escapes: 4 s for 31 MB.
 * @throws SyntaxError, or {@link ProtocolError} `MALFORMED_BODY` for very many values.
 */
export async function parseInSlices(bytes: Buffer, run: RunSlice, reserve = UNCOUNTED): Promise<unknown> {
  const parser = new SlicedParser(bytes);
  const slices = parser.run();
  for (let counted = 0; ; ) {
    const slice = await run(WORK_OF_SLICE, () => slices.next());
    reserve((parser.values - counted) * BYTES_OF_VALUE);
    counted = parser.values;
    if (slice.done) return slice.value;
  }
}

/**
 * Parses JSON at once if it is small, in slices otherwise.
 * @param parseText parses a small text.
 * @throws as {@link parseInSlices} does.
 */
export async function parseJson(
  bytes: Buffer,
  run: RunSlice,
  reserve = UNCOUNTED,
  parseText: (text: string) => unknown = JSON.parse,
): Promise<unknown> {
  if (bytes.length > MAX_BYTES_AT_ONCE) return await parseInSlices(bytes, run, reserve);
  return await run(bytes.length, () => {
    const text = bytes.toString();
    reserve(assertFewValues(text) * BYTES_OF_VALUE);
    const value = parseText(text);
    const requests: readonly unknown[] = Array.isArray(value) ? value : [value];
    return requests.some(hasRoundedId) ? parseAtOnce(bytes) : value;
  });
}

/** Parses a small text once more, with exact ids. */
function parseAtOnce(bytes: Buffer): unknown {
  const slices = new SlicedParser(bytes).run();
  for (;;) {
    const slice = slices.next();
    if (slice.done) return slice.value;
  }
}

function hasRoundedId(request: unknown): boolean {
  return typeof request === "object" && request !== null && "id" in request && isRounded(request.id);
}

function isRounded(value: unknown): boolean {
  return typeof value === "number" && !Number.isSafeInteger(value);
}

/** A list or an object that has not ended. */
interface OpenContainer {
  readonly content: unknown[] | Record<string, unknown>;
  /** The member that is read. */
  key: string | undefined;
}

const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];
const ENDS_OF_SCALAR = new Set(Buffer.from(" \t\n\r,]}"));
const BYTE_ORDER_MARK = Buffer.from("\ufeff");
/** Work of a slice in bytes, some half a millisecond. A value costs as much as so many bytes of a text. */
const WORK_OF_SLICE = 131_072;
const WORK_OF_VALUE = 64;
/** A text is decoded in parts of so many bytes. */
const PART_BYTES = 65_536;
/** The most bytes of a character. */
const MAX_CHARACTER_BYTES = 4;

class SlicedParser {
  readonly #bytes: Buffer;
  readonly #open: OpenContainer[] = [];
  #at: number;
  /** The values that have begun. */
  values = 0;
  #work = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#at = bytes.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
  }

  /** Yields at the end of each slice. @returns the value. */
  *run(): Generator<void, unknown> {
    for (let isFirst = false; ; ) {
      if (this.#isSliceOver(WORK_OF_VALUE)) yield;
      const value: unknown = yield* this.#beginValue(isFirst);
      isFirst = value === OPENED;
      if (isFirst) continue;
      const whole = yield* this.#endContainers(value);
      if (this.#open.length > 0) continue;
      if (this.#nextByte() !== undefined) throw this.#unexpected();
      return whole;
    }
  }

  /** Reads a scalar or an empty container, or the beginning of another one. */
  *#beginValue(isFirst: boolean): Generator<void, unknown> {
    const container = this.#open.at(-1);
    if (isFirst && container && this.#skip(closerOf(container))) {
      this.#open.pop();
      return container.content;
    }
    if (container && !Array.isArray(container.content)) container.key = yield* this.#readKey();
    if (++this.values > MAX_JSON_VALUES) throw tooManyValues();
    if (this.#skip("[")) return this.#openContainer([]);
    if (this.#skip("{")) return this.#openContainer({});
    return this.#nextByte() === QUOTE ? yield* this.#readText() : this.#readScalar();
  }

  /** Gives a value to its container, and all containers that end with it to theirs. @returns the last one's value. */
  *#endContainers(value: unknown): Generator<void, unknown> {
    let whole = value;
    for (let container = this.#open.at(-1); container; container = this.#open.at(-1)) {
      if (this.#isSliceOver(WORK_OF_VALUE)) yield;
      addTo(container, whole);
      if (this.#skip(",")) return undefined;
      if (!this.#skip(closerOf(container))) throw this.#unexpected();
      this.#open.pop();
      whole = container.content;
    }
    return whole;
  }

  #openContainer(content: OpenContainer["content"]): typeof OPENED {
    this.#open.push({ content, key: undefined });
    return OPENED;
  }

  *#readKey(): Generator<void, string> {
    if (this.#nextByte() !== QUOTE) throw this.#unexpected();
    const key = yield* this.#readText();
    if (!this.#skip(":")) throw this.#unexpected();
    return key;
  }

  *#readText(): Generator<void, string> {
    const bytes = this.#bytes;
    let text = "";
    let from = this.#at + 1;
    for (let at = from; at < bytes.length; ) {
      const byte = bytes[at] ?? QUOTE;
      if (byte === QUOTE) {
        this.#at = at + 1;
        this.#work += at - from;
        return text + this.#decode(from, at);
      }
      if (at - from >= PART_BYTES && isPartEnd(byte, at - from)) {
        text += this.#decode(from, at);
        if (this.#isSliceOver(at - from)) yield;
        from = at;
      }
      at += byte !== BACKSLASH ? 1 : bytes[at + 1] === LETTER_U ? 6 : 2;
    }
    throw new SyntaxError("the JSON ends within a text");
  }

  #decode(from: number, to: number): string {
    return JSON.parse(`"${this.#bytes.toString("utf8", from, to)}"`) as string;
  }

  /** Reads a number, a boolean or null. */
  #readScalar(): unknown {
    const from = this.#at;
    let to = from;
    while (to < this.#bytes.length && !ENDS_OF_SCALAR.has(this.#bytes[to] ?? 0)) {
      if (++to - from > MAX_BYTES_AT_ONCE) throw this.#unexpected();
    }
    this.#at = to;
    this.#work += to - from;
    const text = this.#bytes.toString("latin1", from, to);
    const value: unknown = JSON.parse(text);
    return isRounded(value) && this.#isIdOfRequest() ? new ExactNumber(text) : value;
  }

  /** Whether the value is the id of a request, alone or in a batch. */
  #isIdOfRequest(): boolean {
    const [outermost] = this.#open;
    const depth = Array.isArray(outermost?.content) ? 2 : 1;
    return this.#open.length === depth && this.#open.at(-1)?.key === "id";
  }

  /** Skips this character, if it is the next one behind the white space. */
  #skip(character: string): boolean {
    if (this.#nextByte() !== character.charCodeAt(0)) return false;
    this.#at++;
    return true;
  }

  /** Returns the next byte behind the white space. */
  #nextByte(): number | undefined {
    const limit = this.#at + MAX_BYTES_AT_ONCE;
    while (isWhiteSpace(this.#bytes[this.#at])) {
      if (++this.#at > limit) throw this.#unexpected();
    }
    return this.#bytes[this.#at];
  }

  #isSliceOver(work: number): boolean {
    this.#work += work;
    if (this.#work < WORK_OF_SLICE) return false;
    this.#work = 0;
    return true;
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`the JSON is malformed at byte ${this.#at}`);
  }
}

/** Stands for a container that has begun. */
const OPENED = Symbol("opened");

function closerOf({ content }: OpenContainer): "]" | "}" {
  return Array.isArray(content) ? "]" : "}";
}

function addTo({ content, key }: OpenContainer, value: unknown): void {
  if (Array.isArray(content)) content.push(value);
  else if (key !== undefined && key !== "__proto__" && key !== "constructor") content[key] = value;
}

function isWhiteSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether a part of a text may end before this byte. Bytes that are no UTF-8 may look as if a character never ended. */
function isPartEnd(byte: number, length: number): boolean {
  return (byte & 0xc0) !== 0x80 || length >= PART_BYTES + MAX_CHARACTER_BYTES;
}

function tooManyValues(): ProtocolError {
  const message = `the JSON has more than ${MAX_JSON_VALUES} values; a batch has far fewer`;
  return new ProtocolError("MALFORMED_BODY", message, { maxValues: MAX_JSON_VALUES });
}
