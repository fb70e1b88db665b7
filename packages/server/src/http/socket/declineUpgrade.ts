import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";

/** Fields that belong to the hop, and would ask for the upgrade again. */
const UPGRADING = new Set(["upgrade", "connection", "http2-settings"]);

/**
 * Serves a request as if it had not asked for an upgrade, which a server is free to ignore (RFC 9110, 7.8): clients
 * that ask for HTTP/2 in this way on any request are answered like others, and what is refused before an upgrade is
 * refused by the route, with the same error as everything else. The connection begins anew with what was read of it.
 */
export function declineUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (!UPGRADING.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  if (/\bclose\b/i.test(request.headers.connection ?? "")) lines.push("Connection: close");
  // Header fields are bytes, which Node reads as latin1.
  const read = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  socket.unshift(Buffer.concat([read, head]));
  server.emit("connection", socket);
}
