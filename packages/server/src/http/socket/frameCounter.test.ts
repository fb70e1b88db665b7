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

describe("the frames of a WebSocket", () => {
  it.each([1, 2, 3, 7, 100, 65_536, bytes.length])("are counted in chunks of %d bytes", (size) => {
    const heads = new FrameCounter();
    let counted = 0;
    for (let at = 0; at < bytes.length; at += size) counted += heads.count(bytes.subarray(at, at + size));
    expect(counted).toBe(LENGTHS.length);
  });
});
