import { Duplex } from "node:stream";

/** A connection whose packets are split. */
interface Receiver {
  /** Gives the bytes that are handed on at once where requests or frames may begin. */
  pieceOf: (rest: Buffer) => number;
  /** Tells how many of the next bytes are surely of one body, and so begin nothing. */
  bodyBytes: () => number;
  onPiece: (bytes: number) => void;
  /** The bytes that are not handed on yet. */
  rest: Buffer;
  /** The client has sent its last byte. */
  isOver: boolean;
}

const receivers = new WeakMap<Duplex, Receiver>();
const NOTHING = Buffer.alloc(0);

/**
 * Splits the packets of a connection into pieces, and its reader can pause between two pieces. A packet of 64 KiB may have thousands of
 * requests or frames, and a parser begins all requests of what it gets at once. Nothing is split while the reader pauses: where
 * connections come anew with such packets, most of them are gone before anybody reads on. The latest call for a connection counts.
 */
export function receiveInPieces(
  socket: Duplex,
  pieceOf: Receiver["pieceOf"],
  bodyBytes: Receiver["bodyBytes"],
  onPiece: Receiver["onPiece"] = () => {},
): void {
  const known = receivers.get(socket);
  if (known) {
    Object.assign(known, { pieceOf, bodyBytes, onPiece });
    return;
  }
  const receiver: Receiver = { pieceOf, bodyBytes, onPiece, rest: NOTHING, isOver: false };
  receivers.set(socket, receiver);
  const push = (received: unknown, encoding?: BufferEncoding) =>
    Duplex.prototype.push.call(socket, received, encoding);
  const handOn = (): boolean => {
    let hasRoom = true;
    const isReading = () => socket.readableLength === 0 && !socket.isPaused() && !socket.destroyed;
    while (receiver.rest.length > 0 && isReading()) {
      const { rest } = receiver;
      const piece = rest.subarray(0, Math.max(receiver.pieceOf(rest), receiver.bodyBytes()));
      receiver.rest = rest.subarray(piece.length);
      receiver.onPiece(piece.length);
      hasRoom = push(piece);
    }
    if (receiver.rest.length > 0) return false;
    if (receiver.isOver) push(null);
    receiver.isOver = false;
    return hasRoom;
  };
  socket.push = (received: unknown, encoding?: BufferEncoding) => {
    const isEnd = received === null && receiver.rest.length > 0;
    if (!Buffer.isBuffer(received) && !isEnd) return push(received, encoding);
    if (Buffer.isBuffer(received))
      receiver.rest = receiver.rest.length > 0 ? Buffer.concat([receiver.rest, received]) : received;
    else receiver.isOver = true;
    return handOn();
  };
  const read = socket._read.bind(socket);
  socket._read = (size) => {
    if (receiver.rest.length > 0) handOn();
    else read(size);
  };
  socket.on("resume", handOn);
}
