import { Duplex } from "node:stream";

/**
 * Splits the packets of a connection into pieces, and its reader can pause between two pieces. A packet of 64 KiB may have thousands of
 * requests or frames, and a parser begins all requests of what it gets at once.
 * @param pieceOf gives the bytes that are handed on at once where requests or frames may begin.
 * @param bodyBytes tells how many of the next bytes are surely of one body, and so begin nothing.
 */
export function receiveInPieces(
  socket: Duplex,
  pieceOf: (rest: Buffer) => number,
  bodyBytes: () => number,
  onPiece = (_bytes: number) => {},
): void {
  socket.push = (received: unknown, encoding?: BufferEncoding) => {
    if (!Buffer.isBuffer(received)) return Duplex.prototype.push.call(socket, received, encoding);
    let hasRoom = true;
    for (let rest = received; rest.length > 0; ) {
      const piece = rest.subarray(0, Math.max(pieceOf(rest), bodyBytes()));
      onPiece(piece.length);
      hasRoom = Duplex.prototype.push.call(socket, piece);
      rest = rest.subarray(piece.length);
    }
    return hasRoom;
  };
}
