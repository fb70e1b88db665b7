import { describe, expect, it } from "vitest";
import { ProtocolError } from "../protocolError.js";
import { type ClientFrame, encodeClientFrame, readParsedFrame } from "./clientFrame.js";

describe("a frame of the client", () => {
  it.each<ClientFrame>([
    { id: 1, transactions: ["0x", "0x02"] },
    { id: "a", transactions: ["0x"], wait: "included" },
    { id: "", watch: ["b"], wait: "broadcast" },
    { id: 0.5, watch: [] },
  ])("reads back: %j", (frame) => {
    const received = readParsedFrame(JSON.parse(encodeClientFrame(frame)));
    expect(received.request).toBe(frame.id);
    expect(received.parse(2)).toEqual(frame);
  });

  it("is the body of a POST if it has no id, and then submits", () => {
    const received = readParsedFrame({ transactions: ["0x"], wait: "included" });
    expect(received.request).toBeNull();
    expect(received.parse(2)).toEqual({ transactions: ["0x"], wait: "included" });
    expect(() => readParsedFrame({ watch: ["a"] }).parse(2)).toThrow("`watch` and no `id`");
    expect(() => readParsedFrame({ id: null, transactions: ["0x"] }).parse(2)).toThrow("`id` is null");
  });

  it("keeps the id of its request if it is refused", () => {
    const received = readParsedFrame({ id: "a", transactions: ["0x", "0x", "0x"] });
    expect(received.request).toBe("a");
    expect(() => received.parse(2)).toThrow(ProtocolError);
  });
});
