import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { restartConnection } from "../port/tls.js";
import { prefixOf } from "../requestHost.js";

/** Hop-by-hop fields that would ask for the upgrade again. */
const UPGRADE_FIELDS = new Set(["upgrade", "connection", "http2-settings"]);

/**
 * Serves a request as if it had not asked for an upgrade, as a server may (RFC 9110, 7.8). Some clients ask for HTTP/2 on
 * any request, and get a usual answer. A WebSocket that is refused gets the route's error. The connection starts again
 * with the request's bytes, written back without the upgrade. It ends with this request: Node attaches to a connection
 * anew each time it starts, so a client could pile up listeners by any number of such requests.
 */
export function declineUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${prefixOf(request)}${request.url} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (!UPGRADE_FIELDS.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  lines.push("Connection: close");
  // Node reads header fields as latin1.
  const requestBytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  socket.unshift(Buffer.concat([requestBytes, head]));
  restartConnection(server, socket);
}
