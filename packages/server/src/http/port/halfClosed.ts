import type { IncomingMessage, Server, ServerResponse } from "node:http";

/** A client that has left resets its connection within a round trip of bytes that reach its machine. */
const PROBE_MS = 1_000;

/**
 * Answers clients that close their sending half behind a request, as HTTP wants it (RFC 9112, 9.6). A client that has left looks alike
 * until bytes are sent to its machine, and the next ones after these fail. So both are sent bytes without a meaning, twice: the request
 * of a client that has left does not go on, and its connection holds no place.
 */
export function answerHalfClosed(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("request", ({ socket, httpVersion }: IncomingMessage, response: ServerResponse) => {
    const probe = () => {
      if (response.writableEnded || httpVersion !== "1.1") return;
      if (!response.headersSent) response.writeProcessing();
      else sendZero(response);
    };
    const onEnd = () => {
      probe();
      setTimeout(probe, PROBE_MS).unref();
    };
    if (socket.readableEnded) onEnd();
    else socket.once("end", onEnd);
    response.once("close", () => socket.off("end", onEnd));
  });
}

/** Sends a zero that leads the length of the next chunk. Lines and their chunks stay as they are (D14). */
function sendZero(response: ServerResponse): void {
  if (!response.chunkedEncoding) return;
  response.flushHeaders();
  response.socket?.write("0");
}
