/**
 * The lines of a request that opens a WebSocket, without the empty line at its end.
 * @param path of the gateway, which has the key in itself; by default, that of submissions.
 */
export function upgradeRequest(apiKey: string, path?: string): string[] {
  return [
    `GET ${path ?? "/v1/submit"} HTTP/1.1`,
    "Host: x",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...(path === undefined ? [`Authorization: Bearer ${apiKey}`] : []),
  ];
}
