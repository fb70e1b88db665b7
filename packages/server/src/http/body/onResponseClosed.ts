import type { IncomingMessage, ServerResponse } from "node:http";

/** Calls back once, when the response is sent or its client has left; at once if the client has left already. */
export function onResponseClosed(
  { socket }: IncomingMessage,
  response: ServerResponse,
  callback: () => void,
): void {
  if (socket.closed) callback();
  else response.once("close", callback);
}
