import { describe, expect, it } from "vitest";
import { FrameCounter } from "./frameCounter.js";

/** Makes a text frame with a payload of this many bytes, masked as clients send it. */
function frameOf(length: number, isMasked = true): Buffer {
  const mask = isMasked ? 0x80 : 0;
  const size = Buffer.alloc(length < 126 ? 1 : length < 65_536 ? 3 : 9);
  size[0] = mask | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (size.length === 3) size.writeUInt16BE(length, 1);
  if (size.length === 9) size.writeBigUInt64BE(BigInt(length), 1);
  return Buffer.concat([Buffer.of(0x81), size, Buffer.alloc(isMasked ? 4 : 0), Buffer.alloc(length, 0xff)]);
}

const LENGTHS = [0, 1, 125, 126, 127, 65_535, 65_536, 0, 0, 3];
const bytes = Buffer.concat(LENGTHS.map((length, i) => frameOf(length, i % 3 !== 0)));

const PING = Buffer.of(0x89, 0x80, 1, 2, 3, 4);

/** Counts bytes that come in chunks of this size. */
function countIn(bytes: Buffer, size: number) {
  const counter = new FrameCounter();
  let messages = 0;
  let messageBytes = 0;
  let frames = 0;
  for (let at = 0; at < bytes.length; at += size) {
    const counted = counter.count(bytes.subarray(at, at + size));
    messages += counted.messages.length;
    frames += counted.frames;
    messageBytes += counted.messages.reduce((sum, one) => sum + one, 0) + counted.rest;
  }
  return { messages, messageBytes, frames, isBetween: counter.isBetweenMessages };
}

describe("the messages of a WebSocket", () => {
  it.each([1, 2, 3, 7, 100, 65_536, bytes.length])("are counted in chunks of %d bytes", (size) => {
    const expected = { messages: LENGTHS.length, messageBytes: bytes.length, isBetween: true };
    expect(countIn(bytes, size)).toMatchObject(expected);
  });

  it("end in the packet that begins the next one: the beginning counts for the next one", () => {
    const counter = new FrameCounter();
    const [first, second] = [frameOf(10), frameOf(1_000)];
    const packet = Buffer.concat([first, second.subarray(0, 600)]);
    expect(counter.count(packet)).toEqual({ messages: [first.length], rest: 600, frames: 0 });
    expect(counter.isBetweenMessages).toBe(false);
    expect(counter.count(second.subarray(600))).toEqual({
      messages: [second.length - 600],
      rest: 0,
      frames: 0,
    });
    expect(counter.isBetweenMessages).toBe(true);
  });

  it("have pings between their fragments, which do not count for them", () => {
    const [begin, end] = [Buffer.of(0x01, 0x80, 0, 0, 0, 0), Buffer.of(0x80, 0x80, 0, 0, 0, 0)];
    const counter = new FrameCounter();
    expect(counter.count(PING)).toMatchObject({ messages: [], rest: 0 });
    expect(counter.isBetweenMessages).toBe(true);
    expect(counter.count(Buffer.concat([begin, PING]))).toEqual({ messages: [], rest: 6, frames: 2 });
    expect(counter.isBetweenMessages).toBe(false);
    expect(counter.count(end)).toEqual({ messages: [6], rest: 0, frames: 0 });
  });

  it("come without their masks where they are large, however they are cut, so that nobody takes a mask off all at once", () => {
    const mask = Buffer.of(1, 2, 3, 4);
    const text = Buffer.from(Array.from({ length: 70_001 }, (_, i) => i % 251));
    const payload = text.map((byte, i) => byte ^ (mask[i % 4] ?? 0));
    const head = Buffer.from(frameOf(text.length).subarray(0, 10));
    const frames = Buffer.concat([head, mask, payload, PING, head, mask, payload]);
    const bare = Buffer.concat([head, Buffer.alloc(4), text]);
    const expected = Buffer.concat([bare, PING, bare]);
    for (const size of [1, 2, 3, 5, 7, 11, 13, 1_000, 65_536, frames.length]) {
      const counter = new FrameCounter();
      const chunks = [];
      for (let at = 0; at < frames.length; at += size)
        chunks.push(Buffer.from(frames.subarray(at, at + size)));
      for (const chunk of chunks) counter.count(chunk);
      expect(Buffer.concat(chunks).equals(expected)).toBe(true);
    }
  });
});
