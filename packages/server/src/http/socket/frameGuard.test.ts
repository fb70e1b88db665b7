import { EventEmitter, once } from "node:events";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import type { WebSocket } from "ws";
import { BodyMemoryBudget } from "../limits/bodyMemoryBudget.js";
import { FrameGuard } from "./frameGuard.js";

class Connection extends Duplex {
  override _read(): void {}
}

it("counts the frames of a packet that wait to be read, and closes where there is no room for them", async () => {
  const bodyMemory = new BodyMemoryBudget(100_000, 1_000);
  const guardOf = () => {
    const raw = new Connection();
    const closed: number[] = [];
    const close = (code: number) => closed.push(code);
    const emitter = new EventEmitter();
    const terminate = () => emitter.emit("close");
    const socket = Object.assign(emitter, { readyState: 1, OPEN: 1, close, terminate, pause: () => {} });
    const owner = { keyId: "key", limits: { queueShare: 1, maxBodyBytes: undefined } };
    new FrameGuard(raw, socket as unknown as WebSocket, { bodyMemory, owner, bodyTimeoutMs: 1_000 });
    raw.on("data", () => raw.pause());
    return { raw, socket, closed };
  };
  const packet = Buffer.alloc(60_000);
  const first = guardOf();
  const second = guardOf();
  await new Promise(setImmediate);
  first.raw.push(packet);
  expect(bodyMemory.reservedBytes).toBeGreaterThan(59_000);
  second.raw.push(packet);
  expect([first.closed, second.closed]).toEqual([[], [1013]]);
  first.raw.removeAllListeners("data").on("data", () => {});
  first.raw.resume();
  await new Promise(setImmediate);
  expect(bodyMemory.reservedBytes).toBeLessThan(59_000);
  first.socket.emit("close");
  // A client that does not answer to the close is cut off.
  await once(second.socket, "close");
  expect(bodyMemory.reservedBytes).toBe(0);
});
