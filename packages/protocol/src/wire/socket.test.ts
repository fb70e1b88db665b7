import { describe, expect, it } from "vitest";
import { ProtocolError } from "../protocolError.js";
import { parseReadiness } from "./ready.js";
import {
  type ClientFrame,
  encodeClientFrame,
  encodeDoneFrame,
  encodeErrorFrame,
  encodeLineFrame,
  parseServerFrame,
  readClientFrame,
} from "./socket.js";
import type { ResultLine } from "./submit.js";
import { WireError } from "./WireError.js";

const LINES: ResultLine[] = [
  { index: 0, id: "i", success: true, txHash: `0x${"ab".repeat(32)}` },
  { index: 1, id: "j", success: false, error: { code: "TIMEOUT", message: "m", reason: "NOT_INCLUDED" } },
];

describe("a frame of the client", () => {
  it.each<ClientFrame>([
    { id: 1, transactions: ["0x", "0x02"] },
    { id: "a", transactions: ["0x"], wait: "included" },
    { id: "", watch: ["b"], wait: "broadcast" },
    { id: 0.5, watch: [] },
  ])("reads back: %j", (frame) => {
    const received = readClientFrame(encodeClientFrame(frame));
    expect(received.request).toBe(frame.id);
    expect(received.parse(2)).toEqual(frame);
  });

  it("keeps its name when it is refused", () => {
    const received = readClientFrame('{"id":"a","transactions":["0x","0x","0x"]}');
    expect(received.request).toBe("a");
    expect(() => received.parse(2)).toThrow(ProtocolError);
  });
});

describe("a frame of the service", () => {
  it.each(LINES)("is a result line with the request in front", (line) => {
    const text = encodeLineFrame("a", line);
    expect(Object.keys(JSON.parse(text)).slice(0, 4)).toEqual(["request", "index", "id", "success"]);
    expect(parseServerFrame(text)).toEqual({ kind: "line", request: "a", line });
  });

  it("is the end of a request", () => {
    expect(encodeDoneFrame(1)).toBe('{"request":1,"done":true}');
    expect(parseServerFrame(encodeDoneFrame(1))).toEqual({ kind: "done", request: 1 });
  });

  it.each([null, 1, "a"])("is the error of a request refused whole: %j", (request) => {
    const text = encodeErrorFrame(request, new ProtocolError("EMPTY_BATCH", "m"));
    expect(JSON.parse(text)).toEqual({
      request,
      error: { code: "INVALID_REQUEST", message: "m", reason: "EMPTY_BATCH" },
    });
    expect(parseServerFrame(text)).toMatchObject({
      kind: "error",
      request,
      error: { reason: "EMPTY_BATCH" },
    });
  });

  it.each(["", "[]", "1", '{"done":true}', '{"request":1}', '{"request":{},"done":true}', '{"error":{}}'])(
    "is not %s",
    (text) => {
      expect(() => parseServerFrame(text)).toThrow(WireError);
    },
  );
});

describe("a readiness", () => {
  const good = { store: { ok: true }, chain: { ok: false, message: "m" }, waivers: { ok: true, usable: 1 } };

  it("reads back, also with the part that only an end has", () => {
    for (const parts of [good, { ...good, service: { ok: false } }]) {
      const body = { ready: false, parts };
      expect(parseReadiness(JSON.parse(JSON.stringify(body)))).toEqual(body);
    }
  });

  it.each([null, {}, { ready: true }, { ready: true, parts: {} }, { ready: 1, parts: good }])(
    "is not %j",
    (body) => {
      expect(() => parseReadiness(body)).toThrow(WireError);
    },
  );
});
