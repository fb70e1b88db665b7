import type { Description } from "../../packages/server/test/support/description.js";
import type { Probe } from "./probe.js";

/** An HTTP answer. */
interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/**
 * Close codes that the description need not have: the WebSocket library's for a broken frame, and a client's own echoed.
 */
const LIBRARY_CODES = [1000, 1001, 1002, 1003, 1005, 1006, 1007, 1010, 1011, 1014];

/** The interim responses before the answer to a client that has closed its sending half (RFC 9110, 15.2). */
const INTERIM = /^(?:HTTP\/1\.1 102 Processing\r\n\r\n)+/;

/** The problems of the bytes that one connection received, one sentence each. */
export function problemsOf(probe: Probe, received: Buffer, description: Description): string[] {
  const text = received.toString("latin1");
  if (/^HTTP\/1\.1 500/m.test(text)) return [`a 500: ${text.slice(0, 2_000)}`];
  if (
    text.includes('"reason":"INTERNAL_ERROR"') &&
    !text.includes('"openapi"') &&
    !text.includes('"asyncapi"')
  ) {
    return [`INTERNAL_ERROR: ${text.slice(0, 2_000)}`];
  }
  if (text.startsWith("HTTP/1.1 101")) return framesProblems(received, description);
  const answer = onlyAnswerOf(text.replace(INTERIM, ""));
  if (probe.request === undefined || answer === undefined) return [];
  const { method, url } = probe.request;
  return description.problemsOfCall(method, url, answer).map((problem) => `${method} ${url}: ${problem}`);
}

/** The answer, if the connection received exactly one complete answer. */
function onlyAnswerOf(text: string): Answer | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...fields] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(":");
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
    }),
  );
  const rest = text.slice(end + 4);
  const body = headers["transfer-encoding"] === "chunked" ? decodeChunks(rest) : rest;
  if (body === undefined || (headers["content-length"] ?? String(body.length)) !== String(body.length)) {
    return undefined;
  }
  return { status: Number(first.split(" ")[1]), headers, text: Buffer.from(body, "latin1").toString() };
}

function decodeChunks(text: string): string | undefined {
  let body = "";
  for (let at = 0; ; ) {
    const end = text.indexOf("\r\n", at);
    const length = Number.parseInt(text.slice(at, end), 16);
    if (end < 0 || Number.isNaN(length)) return undefined;
    if (length === 0) return end + 4 === text.length ? body : undefined;
    body += text.slice(end + 2, end + 2 + length);
    at = end + 4 + length;
  }
}

function framesProblems(received: Buffer, description: Description): string[] {
  const problems: string[] = [];
  for (let at = received.indexOf("\r\n\r\n") + 4; at + 2 <= received.length; ) {
    const opcode = (received[at] ?? 0) & 0x0f;
    const short = (received[at + 1] ?? 0) & 0x7f;
    // The connection was cut within this frame.
    if (short === 127 || (short === 126 && at + 4 > received.length)) break;
    const [length, head] = short < 126 ? [short, 2] : [received.readUInt16BE(at + 2), 4];
    const payload = received.subarray(at + head, at + head + length);
    at += head + length;
    if (at > received.length) break;
    if (opcode === 1) problems.push(...frameProblems(payload.toString(), description));
    if (opcode === 8 && length >= 2) problems.push(...codeProblems(payload.readUInt16BE(0), description));
  }
  return problems;
}

function frameProblems(text: string, description: Description): string[] {
  const name = description.nameOfFrame(JSON.parse(text));
  return ["line", "done", "error"].includes(name) ? [] : [`a frame that is ${name}: ${text}`];
}

function codeProblems(code: number, description: Description): string[] {
  const isKnown = LIBRARY_CODES.includes(code) || description.closeCodes.includes(code);
  return isKnown || (code >= 3_000 && code < 5_000) ? [] : [`the close code ${code} is not described`];
}
