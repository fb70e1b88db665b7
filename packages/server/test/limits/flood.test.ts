// A flood of one key: other keys are served, the lanes keep their owner, and the key can be revoked.
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { openKeyAdmin } from "../../src/keys/keyAdmin.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { innerOf } from "../support/user.js";

const services = testServices();
const CONNECTIONS = 200;
const SUBMITS = 20;
const REVOKED_WITHIN_MS = 1_000;

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const get = (path: string) => ({ line: `GET ${path}`, rest: "\r\n" });
const post = (path: string, body: unknown) => {
  const text = JSON.stringify(body);
  const fields = `Content-Type: application/json\r\nContent-Length: ${text.length}`;
  return { line: `POST ${path}`, rest: `${fields}\r\n\r\n${text}` };
};

/** Sends a request on each of many connections, and another one when it is answered, until the connections are closed. */
async function flood(service: TestService, key: string, { line, rest }: ReturnType<typeof get>) {
  const { port, hostname } = new URL(service.url);
  const statuses = new Map<string, number>();
  const request = `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${rest}`;
  const open = () =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      socket.on("error", () => {}).once("close", () => resolve());
      socket.on("data", (part: Buffer) => {
        const [, status] = /HTTP\/1\.1 (\d{3})/.exec(part.toString("latin1")) ?? [];
        if (status === undefined) return;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        socket.write(request);
        resolve();
      });
      socket.write(request);
    });
  await Promise.race(Array.from({ length: CONNECTIONS }, open));
  return statuses;
}

describe("a key that reads as fast as it can on many connections", () => {
  it.each([
    get("/v1/submissions?limit=100"),
    get("/v1/policy"),
    get("/v1/openapi.json"),
    post("/v1/check", { transactions: [innerOf(1_000)] }),
  ])(
    "by $line gets only 200, 429 and 503; another key submits, no lane changes its owner, and a revocation applies within a second",
    async (request) => {
      const service = await services.start({ readRatePerSecond: 50, readBurst: 100, leaseMs: 3_000 });
      const admin = await openKeyAdmin({ databaseUrl: service.databaseUrl });
      const { key, record } = await admin.create("tests", { label: "flood" });
      const headers = { authorization: `Bearer ${key}` };
      const status = async () => (await service.call("GET", "/v1/policy", undefined, headers)).status;
      while ((await status()) === 401);
      const epochs = () => service.query("select waiver, epoch from lanes order by waiver");
      const before = await epochs();
      const statuses = await flood(service, key, request);
      for (let user = 1; user <= SUBMITS; user++) {
        expect((await service.submit([innerOf(user)])).map(outcomeOf)).toEqual(["success"]);
      }
      expect(await epochs()).toEqual(before);
      expect([...statuses.keys()].every((one) => ["200", "429", "503"].includes(one))).toBe(true);
      await admin.revoke("tests", record.id);
      const revokedAt = performance.now();
      while (!statuses.has("401")) await new Promise((resolve) => setTimeout(resolve, 10));
      expect(performance.now() - revokedAt).toBeLessThan(REVOKED_WITHIN_MS);
      await admin.close();
    },
  );
});
