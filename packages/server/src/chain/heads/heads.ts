import { WebSocket } from "ws";
import type { Logger } from "../../model/telemetry/log.js";

const HANDSHAKE_MS = 5_000;
const MAX_MESSAGE_BYTES = 1_048_576;
const RECONNECT_MS = 1_000;
const MAX_RECONNECT_MS = 30_000;
const SUBSCRIBE = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}';

/** Subscribes to new heads, and again whenever the connection is lost. */
export function followHeads(url: string, log: Logger, onHead: () => void) {
  let closed = false;
  let live = false;
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  let socket: WebSocket | undefined;
  const connect = () => {
    const fresh = new WebSocket(url, { handshakeTimeout: HANDSHAKE_MS, maxPayload: MAX_MESSAGE_BYTES });
    socket = fresh;
    fresh.on("open", () => fresh.send(SUBSCRIBE));
    fresh.on("message", (data) => {
      const kind = kindOf(String(data));
      if (kind === "other") return;
      live = true;
      failures = 0;
      if (kind === "head") onHead();
    });
    fresh.on("error", ({ message: err }) => {
      if (failures === 0 && !live && !closed)
        log.warn({ err }, "the node's WebSocket cannot be used: new blocks are polled");
      else log.debug({ err }, "the node's WebSocket failed");
    });
    fresh.on("close", () => {
      if (live && !closed) log.warn("the node's WebSocket was lost: new blocks are polled");
      live = false;
      if (!closed) retry = setTimeout(connect, Math.min(MAX_RECONNECT_MS, RECONNECT_MS * 2 ** failures++));
    });
  };
  connect();
  return {
    close() {
      closed = true;
      clearTimeout(retry);
      socket?.terminate();
    },
  };
}

/** Tells a new head and the confirmation of the subscription from anything else. */
function kindOf(text: string): "head" | "subscribed" | "other" {
  try {
    const message = JSON.parse(text) as { method?: unknown; id?: unknown; result?: unknown };
    if (message.method === "eth_subscription") return "head";
    return message.id === 1 && typeof message.result === "string" ? "subscribed" : "other";
  } catch {
    return "other";
  }
}
