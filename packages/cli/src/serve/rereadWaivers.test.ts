import { EventEmitter, once } from "node:events";
import type { WaiverAccount } from "@gas-waiver/protocol";
import { privateKeyWaiver } from "@gas-waiver/server";
import { describe, expect, it } from "vitest";
import { rereadWaivers } from "./rereadWaivers.js";

const [FIRST, SECOND] = [1, 2].map((byte) => privateKeyWaiver(new Uint8Array(32).fill(byte))) as [
  WaiverAccount,
  WaiverAccount,
];

function setUp() {
  const output = new EventEmitter<{ line: [string] }>();
  const readings: { resolve(waivers: readonly WaiverAccount[]): void; reject(error: Error): void }[] = [];
  const used: (readonly WaiverAccount[])[] = [];
  const reread = rereadWaivers({
    read: () => new Promise((resolve, reject) => readings.push({ resolve, reject })),
    use: async (waivers) => void used.push(waivers),
    print: (line) => void output.emit("line", line),
  });
  const line = async () => (await once(output, "line"))[0];
  return { reread, readings, used, line };
}

describe("waiver keys that are read again", () => {
  it("are those of the latest request, after the reading before it, and once for many requests", async () => {
    const { reread, readings, used, line } = setUp();
    for (let i = 0; i < 5; i++) reread();
    expect(readings).toHaveLength(1);
    readings[0]?.resolve([FIRST, SECOND]);
    expect(await line()).toBe("2 waiver key(s) read again");
    expect(readings).toHaveLength(2);
    readings[1]?.resolve([FIRST]);
    expect(await line()).toBe("1 waiver key(s) read again");
    expect(readings).toHaveLength(2);
    expect(used).toEqual([[FIRST, SECOND], [FIRST]]);
  });

  it("stay as they were after an unusable file, and are read at the next request", async () => {
    const { reread, readings, used, line } = setUp();
    reread();
    readings[0]?.reject(new Error("no"));
    expect(await line()).toBe("the waiver keys stay as they were: no");
    await new Promise(setImmediate);
    reread();
    readings[1]?.resolve([SECOND]);
    expect(await line()).toBe("1 waiver key(s) read again");
    expect(used).toEqual([[SECOND]]);
  });
});
