import type { IncomingMessage } from "node:http";
import { PRICES } from "../../model/prices.js";
import type { LoopQueue } from "../../util/loopQueue.js";

/** Bytes that are read in one turn. What a client sends takes the event loop before any code sees it, and also if nobody wants it. */
const BYTES_OF_TURN = 65_536;
/** A piece takes the event loop as long as so many bytes, however small it is: a body of unknown length may come in chunks of a few bytes. */
const LEAST_BYTES = 1_024;

/**
 * Counts bytes that were read.
 * @param received gives all bytes that the connection has received: where there are more of them, a packet has come.
 * @returns the price of a turn where the next bytes have to wait for one, else 0.
 */
export function createReadMeter(received: () => number): (bytes: number) => number {
  let [unpaid, before] = [0, 0];
  return (bytes) => {
    const now = received();
    unpaid += Math.max(bytes, LEAST_BYTES) * PRICES.readByte + (now > before ? PRICES.packet : 0);
    before = now;
    if (unpaid < BYTES_OF_TURN * PRICES.readByte) return 0;
    const price = unpaid;
    unpaid = 0;
    return price;
  };
}

/**
 * Reads the body of a request in turns of its party. Whoever wants the body has to resume it, and what nobody wants is read and dropped
 * behind the response, in turns as well: Node would drop it as fast as it comes.
 * @returns a function that drops what nobody wants.
 */
export function readInTurns(request: IncomingMessage, loop: LoopQueue, party: string): () => void {
  const { socket } = request;
  const meter = createReadMeter(() => socket.bytesRead);
  let isWaiting = false;
  request.pause();
  // Node drops a body of which nothing was read.
  request.read(0);
  request.on("data", ({ length }: Buffer) => {
    const price = meter(length);
    if (price === 0) return;
    request.pause();
    isWaiting = true;
    loop.enter(party, price, () => {
      isWaiting = false;
      request.resume();
    });
  });
  return () => {
    if (!isWaiting) request.resume();
  };
}
