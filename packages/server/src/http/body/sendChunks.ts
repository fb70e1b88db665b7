import type { FastifyReply } from "fastify";
import { onResponseClosed } from "./onResponseClosed.js";

/**
 * Answers with chunks as they come, at the client's pace: the next is asked for when the one before has found room. By
 * ourselves rather than through a stream of the framework's: the last chunk and the end of the answer leave in one
 * packet, and what a request for one transaction costs is mostly what its answer costs.
 *
 * A client that leaves ends the asking. A failure of the chunks cuts the connection: what was sent is not all.
 */
export async function sendChunks(reply: FastifyReply, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const { raw, request } = reply;
  reply.hijack();
  const iterator = chunks[Symbol.asyncIterator]();
  let isOver = false;
  const over = new Promise<void>((resolve) => onResponseClosed(request.raw, raw, resolve));
  void over.then(() => {
    isOver = true;
    return iterator.return?.();
  });
  // What is written to a client that has just left; `close` follows.
  raw.on("error", () => {});
  raw.writeHead(reply.statusCode, withoutUndefined(reply.getHeaders()));
  try {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      if (isOver || raw.destroyed) return;
      const hasRoom = raw.write(next.value);
      if (!hasRoom) await Promise.race([over, new Promise((resolve) => raw.once("drain", resolve))]);
    }
    raw.end();
  } catch (error) {
    raw.destroy(error as Error);
  }
}

type Headers = ReturnType<FastifyReply["getHeaders"]>;

function withoutUndefined(headers: Headers): Record<string, number | string | string[]> {
  const defined = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(defined);
}
