import { once } from "node:events";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { receiveInPieces } from "./pieces.js";

class Connection extends Duplex {
  override _read(): void {}
}

async function connectionInPieces() {
  const socket = new Connection();
  const pieces: number[] = [];
  receiveInPieces(socket, {
    pieceOf: () => 2,
    bodyBytes: () => 0,
    onPiece: (bytes) => pieces.push(bytes),
  });
  const read: string[] = [];
  socket.on("data", (chunk) => {
    read.push(String(chunk));
    socket.pause();
  });
  await new Promise(setImmediate);
  return { socket, pieces, read };
}

it("splits nothing of a packet while its reader pauses, and hands on the end behind the last piece", async () => {
  const { socket, pieces, read } = await connectionInPieces();
  expect(socket.push(Buffer.from("abcd"))).toBe(false);
  socket.push(Buffer.from("e"));
  socket.push(null);
  await new Promise(setImmediate);
  expect([pieces, read]).toEqual([[2], ["ab"]]);
  socket.resume();
  await new Promise(setImmediate);
  expect([pieces, read]).toEqual([
    [2, 2],
    ["ab", "cd"],
  ]);
  const ended = once(socket, "end");
  while (!socket.readableEnded) {
    socket.resume();
    await new Promise(setImmediate);
  }
  await ended;
  expect(read).toEqual(["ab", "cd", "e"]);
});

it("goes by the latest reader, also in what came before", async () => {
  const { socket, read } = await connectionInPieces();
  socket.push(Buffer.from("abcdef"));
  await new Promise(setImmediate);
  receiveInPieces(socket, { pieceOf: () => 1, bodyBytes: () => 2 });
  socket.resume();
  await new Promise(setImmediate);
  receiveInPieces(socket, { pieceOf: () => 1, bodyBytes: () => 0 });
  socket.resume();
  await new Promise(setImmediate);
  expect(read).toEqual(["ab", "cd", "e"]);
});

it("hands on all of a packet where its reader resumes before the pause has come to anything", async () => {
  const { socket, read } = await connectionInPieces();
  socket.push(Buffer.from("abcdefgh"));
  socket.removeAllListeners("data").on("data", (chunk) => read.push(String(chunk)));
  socket.resume();
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(read).toEqual(["ab", "cd", "ef", "gh"]);
});

it("hands on all of a packet to a reader that comes later", async () => {
  const socket = new Connection();
  receiveInPieces(socket, { pieceOf: () => 2, bodyBytes: () => 0 });
  socket.push(Buffer.from("abcdefg"));
  socket.push(null);
  await new Promise(setImmediate);
  const read: string[] = [];
  socket.on("data", (chunk) => read.push(String(chunk)));
  await once(socket, "end");
  expect(read.join("")).toBe("abcdefg");
});
