import type { Duplex } from "node:stream";

/**
 * Makes a function to call before each write. All that is written in one turn of the event loop then leaves in one packet:
 * an answer of a node brings the lines of many requests, and each packet wakes the client.
 */
export function createTurnCork(connection: Duplex): () => void {
  let isCorked = false;
  const uncork = () => {
    isCorked = false;
    connection.uncork();
  };
  return () => {
    if (isCorked) return;
    isCorked = true;
    connection.cork();
    setImmediate(uncork);
  };
}
