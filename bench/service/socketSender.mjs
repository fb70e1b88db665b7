// The load over WebSockets (D23): all requests share a few connections, and their answers come in any order.
import { once } from "node:events";
import { WebSocket } from "ws";

/** A connection may have 100 requests in flight, and the highest rate has some hundreds when the service is slow. */
const CONNECTIONS = 8;

/**
 * Opens the connections.
 * @returns a function that sends one request. `onPart` receives the count of accepted transactions in each result line;
 *   `onFailure` a frame that refuses the request or a transaction. It resolves to the number of accepted transactions.
 */
export async function openSocketSender(address, apiKey, onFailure) {
  const connections = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => openConnection(address, apiKey, onFailure)),
  );
  return {
    send(transactions, onPart) {
      const [first, ...others] = connections;
      const idlest = others.reduce(
        (best, one) => (one.inFlight.size < best.inFlight.size ? one : best),
        first,
      );
      return idlest.send(transactions, onPart);
    },
    close() {
      for (const { socket } of connections) socket.close();
    },
  };
}

async function openConnection(address, apiKey, onFailure) {
  const url = new URL("/v1/submit", address);
  url.protocol = "ws:";
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${apiKey}` } });
  await once(socket, "open");
  /** The requests without their last frame, by id. */
  const inFlight = new Map();
  let nextId = 0;
  socket.on("message", (data) => {
    const text = data.toString();
    const frame = JSON.parse(text);
    const request = inFlight.get(frame.request);
    if (frame.success === true) {
      request.accepted++;
      request.onPart(1);
      return;
    }
    if (frame.done !== true) onFailure(text);
    if (frame.success === false) return;
    inFlight.delete(frame.request);
    request.resolve(request.accepted);
  });
  socket.on("close", (code, reason) => {
    if (inFlight.size > 0) onFailure(`closed with ${code}: ${reason}`);
    for (const { resolve, accepted } of inFlight.values()) resolve(accepted);
  });
  return {
    socket,
    inFlight,
    send: (transactions, onPart) =>
      new Promise((resolve) => {
        const id = nextId++;
        inFlight.set(id, { onPart, resolve, accepted: 0 });
        socket.send(`{"id":${id},"transactions":["${transactions.join('","')}"]}`);
      }),
  };
}
