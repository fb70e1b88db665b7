import { WebSocket } from "ws";
import type { Logger } from "../model/log.js";

/** Tells of new blocks as they come, where the node has a WebSocket. */
export interface Heads {
  /** True while the node tells of new blocks: then they need not be asked for as often. */
  readonly live: boolean;
  close(): void;
}

const RECONNECT_MS = 1_000;
const MAX_RECONNECT_MS = 30_000;

/** Subscribes to new heads, and again whenever the connection is lost. */
export function followHeads(url: string, log: Logger, onHead: () => void): Heads {
  let closed = false;
  let live = false;
  let failures = 0;
  let retry: NodeJS.Timeout | undefined;
  let socket: WebSocket | undefined;
  const connect = () => {
    const fresh = new WebSocket(url, { handshakeTimeout: 5_000, maxPayload: 1_048_576 });
    socket = fresh;
    fresh.on("open", () =>
      fresh.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'),
    );
    fresh.on("message", (data) => {
      const kind = kindOf(String(data));
      if (kind === "other") return;
      live = true;
      failures = 0;
      if (kind === "head") onHead();
    });
    fresh.on("error", (error) => log.debug({ err: error.message }, "the node's WebSocket failed"));
    fresh.on("close", () => {
      if (live) log.warn("the node's WebSocket was lost: new blocks are asked for");
      live = false;
      if (!closed) retry = setTimeout(connect, Math.min(MAX_RECONNECT_MS, RECONNECT_MS * 2 ** failures++));
    });
  };
  connect();
  return {
    get live() {
      return live;
    },
    close() {
      closed = true;
      clearTimeout(retry);
      socket?.terminate();
    },
  };
}

/** A new head, the confirmation of the subscription, or anything else. */
function kindOf(text: string): "head" | "subscribed" | "other" {
  try {
    const message = JSON.parse(text) as { method?: unknown; id?: unknown; result?: unknown };
    if (message.method === "eth_subscription") return "head";
    return message.id === 1 && typeof message.result === "string" ? "subscribed" : "other";
  } catch {
    return "other";
  }
}
