import { Duplex } from "node:stream";

/** Splits the packets of a connection. */
interface Splitter {
  /** Gives the bytes that are handed on at once where requests or frames may begin. */
  readonly pieceOf: (rest: Buffer) => number;
  /** Tells how many of the next bytes are surely of one body, and so begin nothing. */
  readonly bodyBytes: () => number;
  readonly onPiece?: (bytes: number) => void;
  /** Called with the bytes that wait for the reader. */
  readonly onRest?: (bytes: number) => void;
}

const splitters = new WeakMap<Duplex, Splitter>();

/**
 * Splits the packets of a connection into pieces, and its reader can pause between two pieces. A packet of 64 KiB may have thousands of
 * requests or frames, and a parser begins all requests of what it gets at once. Nothing is split while the reader pauses: where
 * connections come anew with such packets, most of them are gone before anybody reads on. The latest splitter of a connection counts.
 */
export function receiveInPieces(socket: Duplex, splitter: Splitter): void {
  const isSplit = splitters.has(socket);
  splitters.set(socket, splitter);
  if (isSplit) return;
  /** Packets, and null behind the last one. */
  const received: unknown[] = [];
  const nextPiece = (): unknown => {
    const packet = received.shift();
    const { pieceOf, bodyBytes, onPiece } = splitters.get(socket) ?? splitter;
    if (!Buffer.isBuffer(packet)) return packet;
    const piece = packet.subarray(0, Math.max(pieceOf(packet), bodyBytes()));
    if (piece.length < packet.length) received.unshift(packet.subarray(piece.length));
    onPiece?.(piece.length);
    return piece;
  };
  /** The stream has asked for bytes while its reader pauses. It asks once. */
  let isAsked = false;
  const handOn = (): boolean => {
    let hasRoom = true;
    isAsked = socket.isPaused();
    while (received.length > 0 && !socket.isPaused() && !socket.destroyed) {
      hasRoom = Duplex.prototype.push.call(socket, nextPiece());
      if (socket.readableLength > 0) break;
    }
    const { onRest } = splitters.get(socket) ?? splitter;
    onRest?.(
      received.reduce<number>((sum, packet) => sum + (Buffer.isBuffer(packet) ? packet.length : 0), 0),
    );
    return hasRoom && received.length === 0;
  };
  socket.push = (packet: unknown) => {
    received.push(packet);
    return handOn();
  };
  const read = socket._read.bind(socket);
  socket._read = (size) => {
    if (received.length > 0) handOn();
    else read(size);
  };
  socket.on("resume", () => {
    if (isAsked) handOn();
  });
}
