// The service's own TLS: every port, the certificate's replacement, and the limits of connections below it.
import { once } from "node:events";
import { Agent, request } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ADMIN_ROUTES } from "../../src/admin/routes.js";
import { certificateProblems, certificateWarning } from "../../src/model/options/tlsCertificate.js";
import { makeCertificate } from "../support/certificate.js";
import { API_KEY, GOOD_HEADERS, type TestService, testServices } from "../support/testService.js";
import { TestSocket } from "../support/testSocket.js";
import { upgradeRequest } from "../support/upgradeRequest.js";
import { hashOf, innerOf } from "../support/user.js";

const CERTIFICATE = makeCertificate();
const services = testServices();
const sockets: { destroy(): unknown }[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const agent = () => new Agent({ ca: CERTIFICATE.cert });
const portOf = ({ url }: Pick<TestService, "url">) => Number(new URL(url).port);

/** Sends a request over TLS on a connection of its own. */
async function call(url: string, options: { method?: string; body?: string; headers?: object } = {}) {
  const { method = "GET", body, headers = {} } = options;
  const sent = request(url, { method, headers: { ...headers }, agent: agent() }).end(body);
  const [response] = await once(sent, "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode as number, text };
}

/** Opens a connection with TLS. @throws the error of a handshake that fails. */
async function handshake(service: TestService, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const trusted = { host: "127.0.0.1", port: portOf(service), ca: CERTIFICATE.cert };
  const socket = connect({ ...trusted, ...options });
  sockets.push(socket);
  await once(socket, "secureConnect");
  socket.on("error", () => {});
  return socket;
}

async function textOf(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket.setEncoding("latin1")) text += chunk;
  return text;
}

async function openWebSocket(service: TestService): Promise<TestSocket> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/submit`, {
    headers: { authorization: `Bearer ${API_KEY}` },
    agent: agent(),
  });
  const opened = once(socket, "open");
  const client = new TestSocket(socket);
  await opened;
  return client;
}

/** Submits over the WebSocket. @returns the hash of the transaction in the result line. */
async function submitOver(socket: TestSocket, transaction: string): Promise<unknown> {
  socket.send({ id: 1, transactions: [transaction] });
  const [line] = await socket.framesOfRequest();
  return line?.txHash;
}

describe("a service with a certificate", () => {
  const tokens = [{ name: "admin", token: "a".repeat(40) }];
  const shared = services.shared({ tls: CERTIFICATE, adminTokens: tokens });

  it("serves HTTPS on all its ports, and no HTTP", async () => {
    const { server, url } = shared();
    expect(url).toMatch(/^https:/);
    const post = {
      method: "POST",
      body: JSON.stringify({ transactions: [innerOf(1)] }),
      headers: GOOD_HEADERS,
    };
    expect((await call(`${url}/v1/submit`, post)).text).toContain(hashOf(innerOf(1)));
    const local = { host: "127.0.0.1", port: 0 };
    const [metrics, admin] = [await server.listenMetrics(local), await server.listenAdmin(local)];
    for (const path of ["livez", "readyz", "metrics"]) {
      expect((await call(`${metrics.url}/${path}`)).status).toBe(200);
    }
    expect((await call(`${admin.url}${ADMIN_ROUTES.list.path}`)).status).toBe(401);
    for (const { port } of [{ port: portOf(shared()) }, metrics, admin]) {
      await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow("fetch failed");
    }
  });

  it("speaks TLS 1.2 and up", async () => {
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const socket = await handshake(shared(), { minVersion: version, maxVersion: version });
      expect(socket.getProtocol()).toBe(version);
    }
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    // The alert comes from the service, not from the client's own library.
    await expect(handshake(shared(), old)).rejects.toThrow(/alert protocol version/);
  });

  it("opens WebSockets, and answers an upgrade to another protocol as a plain request", async () => {
    const socket = await openWebSocket(shared());
    expect(await submitOver(socket, innerOf(2))).toBe(hashOf(innerOf(2)));
    socket.socket.close();
    const other = await handshake(shared());
    // Newer Nodes would keep the connection for the next request.
    const lines = upgradeRequest(API_KEY).map((line) =>
      line
        .replace("websocket", "h2c")
        .replace("/v1/submit", "/v1/ready")
        .replace("Connection: Upgrade", "Connection: Upgrade, close"),
    );
    other.write(`${lines.join("\r\n")}\r\n\r\n`);
    expect(await textOf(other)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("uses a new certificate for new connections, and goes on with the open ones", async () => {
    const service = shared();
    const socket = await openWebSocket(service);
    const next = makeCertificate();
    service.server.setCertificate(next);
    await expect(handshake(service)).rejects.toThrow(/self-signed/);
    await handshake(service, { ca: next.cert });
    expect(await submitOver(socket, innerOf(3))).toBe(hashOf(innerOf(3)));
    socket.socket.close();
    const mixed = { cert: CERTIFICATE.cert, key: next.key };
    expect(() => service.server.setCertificate(mixed)).toThrow(/tls.key is not the key of the certificate/);
    await handshake(service, { ca: next.cert });
    service.server.setCertificate(CERTIFICATE);
    await handshake(service);
  });
});

describe("the limits of connections under TLS", () => {
  it("drop those without a key first, half-open handshakes among them", async () => {
    const service = await services.start({ tls: CERTIFICATE, maxConnections: 3 });
    const withKey = await openWebSocket(service);
    const keyless = [await handshake(service), connectTcp(portOf(service), "127.0.0.1")];
    sockets.push(...keyless);
    const dropped = keyless.map((socket) => once(socket, "close"));
    for (let i = 0; i < 3; i++) await handshake(service);
    await Promise.all(dropped);
    expect(await submitOver(withKey, innerOf(1))).toBe(hashOf(innerOf(1)));
  });

  it("end with the service: requests in flight get their answers, and half-open handshakes hold nothing up", async () => {
    const service = await services.start({ tls: CERTIFICATE, shutdownMs: 200 }, { automine: false });
    const halfOpen = connectTcp(portOf(service), "127.0.0.1");
    sockets.push(halfOpen);
    await once(halfOpen, "connect");
    const body = JSON.stringify({ transactions: [innerOf(1)] });
    const answer = call(`${service.url}/v1/submit?wait=included`, {
      method: "POST",
      body,
      headers: GOOD_HEADERS,
    });
    await service.node.until(({ sent }) => sent.length === 1);
    const since = performance.now();
    await service.server.close();
    expect(performance.now() - since).toBeLessThan(3_000);
    expect((await answer).text).toContain('"index":0');
  });
});

describe("an address that other machines reach", () => {
  it("is opened with TLS or behind a proxy only", async () => {
    const anyone = { host: "0.0.0.0", port: 0 };
    const { server } = await services.start({ adminTokens: [{ name: "admin", token: "a".repeat(40) }] });
    for (const listen of [server.listen, server.listenMetrics, server.listenAdmin]) {
      await expect(listen(anyone)).rejects.toThrow(
        "other machines can reach 0.0.0.0, so it needs TLS: set tls, or behindProxy if a proxy ends TLS",
      );
    }
    const behindProxy = await services.start({ behindProxy: true });
    expect((await behindProxy.server.listenMetrics(anyone)).port).toBeGreaterThan(0);
    const withTls = await services.start({ tls: CERTIFICATE });
    expect((await withTls.server.listenMetrics(anyone)).port).toBeGreaterThan(0);
  });
});

describe("a certificate", () => {
  it("is PEM with the key that belongs to it", () => {
    expect(certificateProblems(CERTIFICATE)).toEqual([]);
    expect(certificateProblems({ cert: "x", key: "secret" })).toEqual([
      "tls.cert is no certificate as PEM",
      "tls.key is no private key as PEM without a passphrase",
    ]);
    const brokenIssuer = "-----BEGIN CERTIFICATE-----\nQUFBQQ==\n-----END CERTIFICATE-----\n";
    expect(certificateProblems({ ...CERTIFICATE, cert: `${CERTIFICATE.cert}${brokenIssuer}` })).toEqual([
      expect.stringMatching(/^tls\.cert and tls\.key cannot be used: .*asn1/),
    ]);
  });

  it("is refused when it has expired", () => {
    const expired = makeCertificate({ validTo: new Date("2026-04-01T00:00:00Z") });
    expect(certificateProblems(expired, Date.parse("2026-03-31T00:00:00Z"))).toEqual([]);
    expect(certificateProblems(expired, Date.parse("2026-04-02T00:00:00Z"))).toEqual([
      expect.stringMatching(/^tls\.cert has expired at Apr {2}1 .* 2026.*: clients refuse it/),
    ]);
  });

  it("gets a warning when it has expired, soon will, or is not valid yet", () => {
    const [validFrom, validTo] = [new Date("2026-01-01T00:00:00Z"), new Date("2026-04-01T00:00:00Z")];
    const { cert } = makeCertificate({ validFrom, validTo });
    const warningAt = (time: string) => certificateWarning(cert, Date.parse(time));
    expect(warningAt("2025-12-31T00:00:00Z")).toMatch(/is not valid before Jan {2}1 .* 2026/);
    expect(warningAt("2026-02-01T00:00:00Z")).toBeUndefined();
    expect(warningAt("2026-03-20T00:00:00Z")).toMatch(/expires at Apr {2}1 .* 2026/);
    expect(warningAt("2026-04-02T00:00:00Z")).toMatch(/has expired at Apr {2}1 .* 2026.*: clients refuse it/);
  });
});
