import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { onAbort } from "../../util/onAbort.js";

export interface ChunkOptions<T> {
  /** Makes the chunk of an item. A cut response ends at the end of a chunk. */
  encode(item: T): Uint8Array;
  /** Ends the response after a whole chunk. */
  readonly signal: AbortSignal;
}

/**
 * Sends items as they come, at the client's pace: it asks for the next one when the one before has found room. It
 * writes to the response itself rather than through a stream of the framework, so that the last chunk and the end of the
 * response leave in one packet. Most of the cost of a request for one transaction is the cost of its response.
 *
 * When the client leaves, or the signal is aborted, it ends the source at once, which may be waiting for its next item. A
 * generator between the two would keep the source until that item comes. When the source fails, it cuts the connection, so
 * that the client does not take the response for a complete one.
 */
export async function sendChunks<T>(
  reply: FastifyReply,
  items: AsyncIterable<T>,
  { encode, signal }: ChunkOptions<T>,
): Promise<void> {
  const { raw, request } = reply;
  reply.hijack();
  const iterator = items[Symbol.asyncIterator]();
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
    void iterator.return?.();
  };
  const closed = new Promise<void>((resolve) => onResponseClosed(request.raw, raw, resolve));
  void closed.then(end);
  if (signal.aborted) end();
  const removeListener = onAbort(signal, end);
  // Writing to a client that has just left emits an error; `close` follows.
  raw.on("error", () => {});
  raw.writeHead(reply.statusCode, withoutUndefined(reply.getHeaders()));
  try {
    while (!hasEnded) {
      const next = await iterator.next();
      if (next.done || hasEnded || raw.destroyed) break;
      const hasRoom = raw.write(encode(next.value));
      if (!hasRoom) await Promise.race([closed, new Promise((resolve) => raw.once("drain", resolve))]);
    }
    if (!raw.destroyed) raw.end();
  } catch (error) {
    raw.destroy(error as Error);
  } finally {
    removeListener();
  }
}

type Headers = ReturnType<FastifyReply["getHeaders"]>;

function withoutUndefined(headers: Headers): Record<string, number | string | string[]> {
  const defined = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(defined);
}

/** Calls back once, when the response is sent or its client has left; at once if the client has left already. */
export function onResponseClosed(
  { socket }: IncomingMessage,
  response: ServerResponse,
  callback: () => void,
): void {
  if (socket.closed) callback();
  else response.once("close", callback);
}
