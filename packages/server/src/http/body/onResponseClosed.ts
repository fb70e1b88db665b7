import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Calls once when the answer is out or its client has left; at once, if the client has left already. The answer alone
 * does not tell: one that waits behind another on its connection never closes when the connection does.
 */
export function onResponseClosed(
  { socket }: IncomingMessage,
  response: ServerResponse,
  then: () => void,
): void {
  if (socket.closed) {
    then();
    return;
  }
  const over = () => {
    socket.off("close", over);
    response.off("close", over);
    then();
  };
  // As many as the requests that the client sends without waiting.
  setMaxListeners(0, socket);
  socket.once("close", over);
  response.once("close", over);
}
