import type { FastifyReply } from "fastify";
import { onResponseClosed } from "./onResponseClosed.js";

/**
 * Sends chunks as they come, at the client's pace: it asks for the next chunk when the one before has found room. It
 * writes to the response itself rather than through a stream of the framework, so that the last chunk and the end of the
 * response leave in one packet. Most of the cost of a request for one transaction is the cost of its response.
 *
 * When the client leaves, it stops asking. When the chunks fail, it cuts the connection, so that the client does not
 * take the response for a complete one.
 */
export async function sendChunks(reply: FastifyReply, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const { raw, request } = reply;
  reply.hijack();
  const iterator = chunks[Symbol.asyncIterator]();
  let isClosed = false;
  const closed = new Promise<void>((resolve) => onResponseClosed(request.raw, raw, resolve));
  void closed.then(() => {
    isClosed = true;
    return iterator.return?.();
  });
  // Writing to a client that has just left emits an error; `close` follows.
  raw.on("error", () => {});
  raw.writeHead(reply.statusCode, withoutUndefined(reply.getHeaders()));
  try {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      if (isClosed || raw.destroyed) return;
      const hasRoom = raw.write(next.value);
      if (!hasRoom) await Promise.race([closed, new Promise((resolve) => raw.once("drain", resolve))]);
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
