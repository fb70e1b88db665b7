import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Calls back once, when the response is sent or its client has left; at once if the client has left already. The
 * response's own `close` is not enough: a response that waits behind another one on its connection never emits it when
 * the connection closes.
 */
export function onResponseClosed(
  { socket }: IncomingMessage,
  response: ServerResponse,
  callback: () => void,
): void {
  if (socket.closed) {
    callback();
    return;
  }
  const onClose = () => {
    socket.off("close", onClose);
    response.off("close", onClose);
    callback();
  };
  // A client may send any number of requests without waiting for their responses.
  setMaxListeners(0, socket);
  socket.once("close", onClose);
  response.once("close", onClose);
}
