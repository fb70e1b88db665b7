// The hosts that a service on a developer's machine answers to. With DNS rebinding, the host name of a hostile page may
// lead to this machine.
import { beforeAll, describe, expect, it } from "vitest";
import { replyToBytes } from "../support/rawReply.js";
import { API_KEY, testServices } from "../support/testService.js";
import { upgradeRequest } from "../support/upgradeRequest.js";

const services = testServices();

describe("the operators' ports without a list of hosts", () => {
  const admins = { adminTokens: [{ name: "admin", token: "a".repeat(40) }] };
  const shared = services.shared(admins);
  const ports: { readonly url: string }[] = [];
  beforeAll(async () => {
    const anyPort = { host: "127.0.0.1", port: 0 };
    ports.push(await shared().server.listenMetrics(anyPort), await shared().server.listenAdmin(anyPort));
  });

  it.each([
    ["localhost:9090", true],
    ["127.0.0.1:9090", true],
    ["rebound.evil.example:9090", false],
  ])("answer over loopback to %s: %s, and the public port to every host", async (host, isAllowed) => {
    const [metrics = shared(), admin = shared()] = ports;
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const ofMetrics = await replyToBytes(metrics, request("/metrics"));
    const ofAdmin = await replyToBytes(admin, request("/admin/v1/keys"));
    expect([ofMetrics.status, ofAdmin.status]).toEqual(isAllowed ? [200, 401] : [400, 400]);
    expect((await replyToBytes(shared(), request("/v1/health"))).status).toBe(200);
  });
});

describe("a service that names its hosts", () => {
  const shared = services.shared({
    allowedHosts: ["loopback", "gateway"],
    adminTokens: [{ name: "admin", token: "a".repeat(40) }],
  });

  const operators: { readonly url: string; readonly path: string; readonly status: number }[] = [];
  beforeAll(async () => {
    const { server } = shared();
    const anyPort = { host: "127.0.0.1", port: 0 };
    operators.push({ ...(await server.listenMetrics(anyPort)), path: "/metrics", status: 200 });
    operators.push({ ...(await server.listenAdmin(anyPort)), path: "/admin/v1/keys", status: 401 });
  });

  it.each([
    ["localhost:8080", true],
    ["127.0.0.1", true],
    ["[::1]:8080", true],
    ["gateway:8080", true],
    ["rebound.evil.example:8080", false],
    ["localhost.evil.example", false],
  ])("answers to %s: %s, over HTTP and WebSocket, and on the operators' ports", async (host, isAllowed) => {
    const health = await replyToBytes(shared(), `GET /v1/health HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(health.status).toBe(isAllowed ? 200 : 400);
    const handshake = upgradeRequest(API_KEY).map((line) => line.replace(/^Host: .*/, `Host: ${host}`));
    for (const { url, path, status } of operators) {
      const reply = await replyToBytes({ url }, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(reply.status).toBe(isAllowed ? status : 400);
    }
    const socket = await replyToBytes(shared(), `${handshake.join("\r\n")}\r\n\r\n`);
    expect(socket.status).toBe(isAllowed ? 101 : 400);
  });
});
