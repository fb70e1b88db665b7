// The hosts that a service on a developer's machine answers to. With DNS rebinding, the host name of a hostile page may
// lead to this machine.
import { describe, expect, it } from "vitest";
import { replyToBytes } from "../support/rawReply.js";
import { API_KEY, testServices } from "../support/testService.js";
import { upgradeRequest } from "../support/upgradeRequest.js";

const services = testServices();

describe("a service that names its hosts", () => {
  const shared = services.shared({ allowedHosts: ["loopback", "gateway"] });

  it.each([
    ["localhost:8080", true],
    ["127.0.0.1", true],
    ["[::1]:8080", true],
    ["gateway:8080", true],
    ["rebound.evil.example:8080", false],
    ["localhost.evil.example", false],
  ])("answers to %s: %s, over HTTP and WebSocket", async (host, isAllowed) => {
    const health = await replyToBytes(shared(), `GET /v1/health HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(health.status).toBe(isAllowed ? 200 : 400);
    const handshake = upgradeRequest(API_KEY).map((line) => line.replace(/^Host: .*/, `Host: ${host}`));
    const socket = await replyToBytes(shared(), `${handshake.join("\r\n")}\r\n\r\n`);
    expect(socket.status).toBe(isAllowed ? 101 : 400);
  });
});
