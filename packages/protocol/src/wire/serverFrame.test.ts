import { describe, expect, it } from "vitest";
import { ProtocolError } from "../protocolError.js";
import type { ResultLine } from "./resultLine.js";
import { encodeDoneFrame, encodeErrorFrame, encodeLineFrame, parseServerFrame } from "./serverFrame.js";
import { WireError } from "./wireError.js";

const LINES: ResultLine[] = [
  { index: 0, id: "i", success: true, txHash: `0x${"ab".repeat(32)}` },
  { index: 1, id: "j", success: false, error: { code: "TIMEOUT", message: "m", reason: "NOT_INCLUDED" } },
];

describe("a frame of the service", () => {
  it.each(LINES)("is a result line behind the id of its request", (line) => {
    const text = encodeLineFrame("a", line);
    expect(Object.keys(JSON.parse(text)).slice(0, 4)).toEqual(["request", "index", "id", "success"]);
    expect(parseServerFrame(text)).toEqual({ kind: "line", request: "a", line });
  });

  it.each(LINES)("names no request if the request has no id", (line) => {
    expect(parseServerFrame(encodeLineFrame(null, line))).toEqual({ kind: "line", request: null, line });
    expect(parseServerFrame(encodeDoneFrame(null))).toEqual({ kind: "done", request: null });
  });

  it("ends a request", () => {
    expect(encodeDoneFrame(1)).toBe('{"request":1,"done":true}');
    expect(parseServerFrame(encodeDoneFrame(1))).toEqual({ kind: "done", request: 1 });
  });

  it.each([null, 1, "a"])("refuses a request as a whole: %j", (request) => {
    const text = encodeErrorFrame(request, new ProtocolError("EMPTY_BATCH", "m"));
    expect(JSON.parse(text)).toEqual({
      request,
      error: {
        code: "INVALID_REQUEST",
        message: "m",
        reason: "EMPTY_BATCH",
        details: { retry: "corrected" },
      },
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
