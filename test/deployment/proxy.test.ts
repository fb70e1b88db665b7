// The proxy of docs/guides/production.md and of deploy/compose, as HAProxy where it is installed. Without HAProxy, its checks are
// spoken by hand. Clients get the service's own answers through it, whatever is away.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { TcpForwarder } from "../../packages/server/test/support/tcpForwarder.js";
import {
  GOOD_HEADERS,
  type TestService,
  testServices,
} from "../../packages/server/test/support/testService.js";
import { innerOf } from "../../packages/server/test/support/user.js";
import { blocksOf } from "../docs/codeBlocks.js";
import { ChildProgram, root } from "../support/childProgram.js";
import { freshFolder } from "../support/freshFolder.js";
import { freePort } from "./freePort.js";

const HAPROXY = spawnSync("haproxy", ["-v"]).status === 0;
const services = testServices({ reach: "tcp", patience: { speed: 10 } });

/** The lines of a backend that tell how its servers are asked and checked, from `backend` to the end. */
const backends = {
  "the guide":
    blocksOf("docs/guides/production.md").find(({ text }) => text.startsWith("backend "))?.text ?? "",
  "deploy/compose": readFileSync(join(root, "deploy/compose/haproxy.cfg"), "utf8").replace(
    /^[\s\S]*\n(?=backend )/,
    "",
  ),
};

/** One of two replicas behind the proxy, and the port that its checks come to. */
interface Replica {
  readonly service: TestService;
  readonly checks: TcpForwarder;
  /** The number of checks that have come. */
  checked(): number;
}

async function replicaOf(service: TestService): Promise<Replica> {
  const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
  let checked = 0;
  const checks = new TcpForwarder(() => {
    checked++;
    return Number(new URL(url).port);
  });
  await checks.open();
  return { service, checks, checked: () => checked };
}

/** Starts HAProxy with a backend of the documents, whose two servers are these replicas. @returns its URL. */
async function startProxy(
  backend: string,
  replicas: readonly Replica[],
): Promise<{ url: string; program: ChildProgram }> {
  const port = await freePort();
  const servers = backend
    .replace(/check port \d+ /, "check ")
    .replace(/ resolvers docker init-addr \S+/, "")
    .replace(/^( +server (one|two)(?:-anyway)?) \S+/gm, (_, line, name) => {
      const { service, checks } = replicas[name === "one" ? 0 : 1] as Replica;
      return `${line} 127.0.0.1:${new URL(service.url).port} port ${checks.port}`;
    })
    .replace(/ port \d+( no-check)/g, "$1");
  const [, name] = /^backend (\S+)/.exec(backend) ?? [];
  const frontend = `defaults\n    mode http\n    timeout client 120s\n    timeout connect 5s\n    timeout server 120s\nfrontend clients\n    bind 127.0.0.1:${port}\n    default_backend ${name}\n`;
  const file = join(freshFolder(), "haproxy.cfg");
  writeFileSync(file, `${frontend}${servers}`);
  const check = spawnSync("haproxy", ["-c", "-f", file], { encoding: "utf8" });
  if (check.status !== 0) throw new Error(check.stderr);
  const program = new ChildProgram(["-db", "-f", file], { command: "haproxy" });
  return { url: `http://127.0.0.1:${port}`, program };
}

/** Says what HAProxy's check says: HTTP/1.0 without a host. @returns the status. */
async function checkByHand({ checks }: Replica): Promise<number> {
  const socket = connect(checks.port, "127.0.0.1");
  socket.write("GET /readyz HTTP/1.0\r\n\r\n");
  return Number((await text(socket)).split(" ")[1]);
}

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

/** Two replicas on one store and node, each ready. */
async function twoReplicas(): Promise<readonly [Replica, Replica]> {
  const first = await services.start({ requestTimeoutMs: 2_000, leaseMs: 3_000 });
  const second = services.closeAfterTest(await first.startReplica());
  const replicas = [await replicaOf(first), await replicaOf(second)] as const;
  for (const one of replicas) {
    opened.push(one.checks);
    await expect.poll(() => checkByHand(one), { timeout: 60_000 }).toBe(200);
  }
  return replicas;
}

/** Waits until the proxy has checked each replica twice more: then it has acted on the first of these checks. */
async function untilChecked(replicas: readonly Replica[]): Promise<void> {
  const counts = replicas.map(({ checked }) => checked() + 2);
  const both = () => replicas.every(({ checked }, i) => checked() >= (counts[i] ?? 0));
  await expect.poll(both, { timeout: 60_000 }).toBe(true);
}

const post = async (url: string, nonce: number) => {
  const body = JSON.stringify({ transactions: [innerOf(nonce)] });
  const response = await fetch(`${url}/v1/submit`, { method: "POST", headers: GOOD_HEADERS, body });
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    text: await response.text(),
  };
};

it("has the same backend in the guide and in deploy/compose", () => {
  const [guide = "", compose = ""] = Object.values(backends).map((text) =>
    text
      .replace(/^ +(timeout|option forwardfor).*\n/gm, "")
      .replace(/^backend .*$|#.*$/gm, "")
      .replace(/ resolvers.*$/m, "")
      .replace(/ (10\.0\.0\.1|10\.0\.0\.2|one|two):/g, " "),
  );
  expect(compose.trim()).toBe(guide.trim());
  expect(guide).toContain("uri /readyz");
});

describe("the checks of the proxy", () => {
  it("find both replicas while the chain is away from all", async () => {
    const replicas = await twoReplicas();
    await replicas[0].service.node.close();
    const isReady = async () =>
      (await replicas[0].service.call("GET", "/v1/ready", undefined, GOOD_HEADERS)).status;
    await expect.poll(isReady, { timeout: 60_000 }).toBe(503);
    expect(await Promise.all(replicas.map(checkByHand))).toEqual([200, 200]);
  });
});

describe.runIf(HAPROXY)("HAProxy with the backend of", () => {
  it.each(Object.entries(backends))(
    "%s gives clients the service's own answers, with chain, database and replicas away",
    async (_, backend) => {
      const replicas = await twoReplicas();
      const { url, program } = await startProxy(backend, replicas);
      opened.push({ close: () => program.end("SIGKILL") });
      await expect
        .poll(() => fetch(`${url}/v1/health`).then(({ status }) => status, String), { timeout: 60_000 })
        .toBe(200);
      await expect
        .poll(async () => (await post(url, 0)).text, { timeout: 60_000 })
        .toContain('"success":true');
      const { node } = replicas[0].service;

      await node.close();
      const isReady = async () =>
        (await replicas[1].service.call("GET", "/v1/ready", undefined, GOOD_HEADERS)).status;
      await expect.poll(isReady, { timeout: 60_000 }).toBe(503);
      await untilChecked(replicas);
      for (const nonce of [1, 2])
        expect(await post(url, nonce)).toMatchObject({
          status: 200,
          text: expect.stringContaining('"code":"TIMEOUT"'),
        });
      await node.open();
      await expect
        .poll(async () => (await post(url, 2)).text, { timeout: 60_000 })
        .toContain('"success":true');

      await services.databases.halt();
      await untilChecked(replicas);
      for (const nonce of [3, 4])
        expect(await post(url, nonce)).toMatchObject({
          status: 503,
          retryAfter: "1",
          text: expect.stringContaining("STORE_UNAVAILABLE"),
        });
      await services.databases.resume();
      await expect
        .poll(async () => (await post(url, 3)).text, { timeout: 60_000 })
        .toContain('"success":true');

      await Promise.all(replicas.map(({ service }) => service.end()));
      await Promise.all(replicas.map(({ checks }) => checks.close()));
      const last = await post(url, 4);
      expect([last.status, last.retryAfter, JSON.parse(last.text).error.code]).toEqual([
        503,
        "1",
        "UNAVAILABLE",
      ]);
    },
  );
});
