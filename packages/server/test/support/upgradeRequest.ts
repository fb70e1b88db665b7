/** The lines of a request that opens a WebSocket, without the empty line at its end. */
export function upgradeRequest(apiKey: string): string[] {
  return [
    "GET /v1/submit HTTP/1.1",
    "Host: x",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `Authorization: Bearer ${apiKey}`,
  ];
}
