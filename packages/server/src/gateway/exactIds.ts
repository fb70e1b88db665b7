import { setImmediate as nextTurn } from "node:timers/promises";
import { isObject } from "../chain/rpc/rpc.js";

/** A number as its client wrote it, which JavaScript would round. */
export class ExactNumber {
  constructor(readonly text: string) {}
}

/**
 * Gives back the ids of a message that parsing has rounded. Nodes answer with the very bytes of an id, and clients in other
 * languages have integers of 64 bits.
 * @param message parsed from `bytes`. Its requests are changed.
 */
export async function restoreExactIds(message: unknown, bytes: Buffer): Promise<unknown> {
  const requests: readonly unknown[] = Array.isArray(message) ? message : [message];
  if (!requests.some(hasRoundedId)) return message;
  const texts = await findIds(bytes, Array.isArray(message) ? 2 : 1);
  requests.filter(isRequest).forEach((request, i) => {
    const text = texts[i];
    if (text !== undefined && hasRoundedId(request)) request.id = new ExactNumber(text);
  });
  return message;
}

/**
 * Returns the id of one request as its client wrote it.
 * @param id parsed from `bytes`.
 */
export async function textOfId(id: string | number | null, bytes: Buffer): Promise<string> {
  const texts = hasRoundedId({ id }) ? await findIds(bytes, 1) : [];
  return texts[0] ?? JSON.stringify(id);
}

function isRequest(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value);
}

function hasRoundedId(request: unknown): request is { id: unknown } {
  return isRequest(request) && typeof request.id === "number" && !Number.isSafeInteger(request.id);
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const WHITE_SPACE = new Set(Buffer.from(" \t\n\r"));
const NUMBER = new Set(Buffer.from("0123456789+-.eE"));
/** The name `"id"`, with both of its letters written as escapes. */
const LONGEST_NAME = 14;
/** Bytes of one turn of the event loop, for some tenths of a millisecond. */
const BYTES_PER_TURN = 131_072;

/**
 * Finds the number that each request of a message has as its id, in one walk over the bytes that reads no values.
 * @param bytes JSON.
 * @param depth of the requests' members: 1 in a request, 2 in a batch.
 */
async function findIds(bytes: Buffer, depth: number): Promise<readonly (string | undefined)[]> {
  const ids: (string | undefined)[] = [];
  let open = 0;
  /** The beginning of the text that is read, or -1. */
  let textFrom = -1;
  for (let at = 0, turnAt = BYTES_PER_TURN; at < bytes.length; at++) {
    if (at >= turnAt) {
      turnAt = at + BYTES_PER_TURN;
      await nextTurn();
    }
    const byte = bytes[at];
    if (textFrom >= 0) {
      if (byte === BACKSLASH) at++;
      if (byte !== QUOTE) continue;
      const id = open === depth && isNameOfId(bytes, textFrom, at + 1) ? numberBehind(bytes, at + 1) : "";
      if (id !== "") ids[ids.length - 1] = id;
      textFrom = -1;
    } else if (byte === QUOTE) {
      textFrom = at;
    } else if (byte === BRACE || byte === BRACKET) {
      if (++open === depth && byte === BRACE) ids.push(undefined);
    } else if (byte === BRACE_END || byte === BRACKET_END) {
      open--;
    }
  }
  return ids;
}

function isNameOfId(bytes: Buffer, from: number, to: number): boolean {
  return to - from <= LONGEST_NAME && JSON.parse(bytes.toString("utf8", from, to)) === "id";
}

/** Reads the number of the member whose name ends here; empty if there is none. */
function numberBehind(bytes: Buffer, nameEnd: number): string {
  const skipWhiteSpace = (at: number): number => {
    let next = at;
    while (WHITE_SPACE.has(bytes[next] ?? 0)) next++;
    return next;
  };
  const colon = skipWhiteSpace(nameEnd);
  if (bytes[colon] !== COLON) return "";
  const from = skipWhiteSpace(colon + 1);
  let to = from;
  while (NUMBER.has(bytes[to] ?? 0)) to++;
  return bytes.toString("latin1", from, to);
}
