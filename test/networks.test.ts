// Several chains behind one service on one database: a devnet, a chain of another id that goes down and comes back, and two that
// cannot start. A second replica has the same networks.
import { request } from "node:http";
import { connect as connectTcp } from "node:net";
import { connect, createWaiverClient, RequestRefusedError } from "@gas-waiver/client";
import { createRelayHandler } from "@gas-waiver/client/relay";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { hexToBytes } from "@gas-waiver/protocol";
import {
  createNetworks,
  type NetworkOptions,
  type NetworksServer,
  privateKeyWaiver,
  type ReloadableOptions,
} from "@gas-waiver/server";
import { Transaction } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createConnection } from "../packages/server/src/store/database/database.js";
import { deferred } from "../packages/server/test/support/deferred.js";
import { ScriptedNode } from "../packages/server/test/support/scriptedNode.js";
import { useTestPostgres } from "../packages/server/test/support/testStore.js";
import { submit } from "./support/submit.js";
import { API_KEY, account, CHAIN_ID, TOKEN, transferOf } from "./support/user.js";

const OTHER_CHAIN_ID = 988;
const LATE_CHAIN_ID = 77;
const PUBLIC_KEY = "gwp_test_networks";
const ADMIN_TOKEN = "admin-token-of-the-networks-5f3a9c1e7b2d8046";
const RECIPIENT = account(9).address;

/** A running service with its ports. */
interface Replica {
  readonly server: NetworksServer;
  readonly url: string;
  readonly operatorsUrl: string;
}

const postgres = useTestPostgres();
let databaseUrl = "";
let devnet: Devnet;
let devnetUrl = "";
let other: ScriptedNode;
let late: ScriptedNode;
let first: Replica;
let second: Replica;

beforeAll(async () => {
  databaseUrl = await postgres.createDatabase();
  await sql("create schema gas_waiver_newer");
  await sql("create table gas_waiver_newer.migrations (number integer primary key, applied_at timestamptz)");
  await sql("insert into gas_waiver_newer.migrations values (999999, now())");
  devnet = await createDevnet({ blockTimeMs: 0 });
  ({ url: devnetUrl } = await devnet.listen({ port: 0 }));
  [other, late] = [await ScriptedNode.start(), await ScriptedNode.start()];
  other.chain.chainId = OTHER_CHAIN_ID;
  late.chain.chainId = LATE_CHAIN_ID;
  await late.close();
  first = await startReplica();
  second = await startReplica();
});
afterAll(async () => {
  await Promise.all([first?.server.close(), second?.server.close()]);
  await devnet?.close();
  await other?.close();
  await late?.close();
});

async function startReplica(): Promise<Replica> {
  const server = await createNetworks({
    databaseUrl,
    adminTokens: [ADMIN],
    logLevel: "silent",
    networks: networks(),
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const { url: operatorsUrl } = await server.listenMetrics({ host: "127.0.0.1", port: 0 });
  return { server, url, operatorsUrl };
}

const ADMIN = { name: "test", token: ADMIN_TOKEN };

function networks(): NetworkOptions[] {
  const common = {
    // One key may be the waiver of several chains.
    waivers: [privateKeyWaiver(hexToBytes(account(10).privateKey))],
    apiKeys: [API_KEY],
    publicApiKeys: [PUBLIC_KEY],
    corsOrigins: ["https://app.example.com"],
    allowedTargets: [{ address: hexToBytes(TOKEN), selectors: [hexToBytes("0xa9059cbb")] }],
    pollIntervalMs: 20,
    leaseMs: 1_000,
    // Three networks of two replicas have to fit in the 100 connections of the server.
    ...{ laneConnections: 2, acceptConnections: 2, readConnections: 2, adminConnections: 1 },
    rpcTimeoutMs: 10_000,
    requestTimeoutMs: 60_000,
  };
  return [
    { ...common, name: "devnet", chainId: CHAIN_ID, rpcUrl: devnetUrl, path: "/chains/dev" },
    {
      ...common,
      name: "other",
      chainId: OTHER_CHAIN_ID,
      rpcUrl: other.url,
      path: "/other",
      hosts: ["Other.Test"],
    },
    { ...common, name: "late", chainId: LATE_CHAIN_ID, rpcUrl: late.url },
    { ...common, name: "newer", chainId: 5, rpcUrl: other.url },
  ];
}

const onDevnet = (user: number, nonce = 0) => account(user).signTransaction(transferOf(RECIPIENT, 1n, nonce));
const onOther = (user: number, nonce = 0) =>
  account(user).signTransaction(transferOf(RECIPIENT, 1n, nonce, { chainId: OTHER_CHAIN_ID }));
const INCLUDED = { query: "?wait=included" };

describe("requests for a network", () => {
  it("are found by the prefix of the path and by the host, each with the lanes of its own chain", async () => {
    const [dev, byPath] = await Promise.all([
      submit(`${first.url}/chains/dev`, [await onDevnet(0)], INCLUDED),
      submit(`${first.url}/other`, [await onOther(0)], INCLUDED),
    ]);
    expect([...dev, ...byPath]).toMatchObject([{ success: true }, { success: true }]);
    const body = JSON.stringify({ transactions: [await onOther(1)] });
    const byHost = await callAs("other.test:8080", "POST", "/v1/submit?wait=included", body);
    expect([byHost.status, JSON.parse(byHost.text)]).toMatchObject([200, { success: true }]);
    const health = await Promise.all(
      [`${first.url}/chains/dev`, `${first.url}/other`].map((url) => createWaiverClient({ url }).health()),
    );
    expect(health.map(({ chainId }) => chainId)).toEqual([CHAIN_ID, OTHER_CHAIN_ID]);
    expect(other.chain.executed).toHaveLength(2);
  });

  it("are refused for a transaction of another chain, with both ids", async () => {
    const [line] = await submit(`${first.url}/other`, [await onDevnet(0, 1)]);
    expect(line?.error).toMatchObject({
      code: "VALIDATION_FAILED",
      reason: "WRONG_CHAIN_ID",
      details: { chainId: String(CHAIN_ID), expected: String(OTHER_CHAIN_ID) },
    });
    expect(line?.error?.message).toContain(`${CHAIN_ID}`);
  });

  it("without a network are answered with the paths that there are, and those of one that does not run with a 503", async () => {
    const nowhere = await fetch(`${first.url}/v1/health`);
    expect([nowhere.status, await nowhere.json()]).toMatchObject([
      404,
      {
        error: {
          reason: "NO_SUCH_PATH",
          message: expect.stringContaining("/chains/dev, /other, /late, /newer"),
        },
      },
    ]);
    const similar = await fetch(`${first.url}/otherwise/v1/health`);
    expect(similar.status).toBe(404);
    const down = await createWaiverClient({ url: `${first.url}/newer`, apiKey: API_KEY })
      .health()
      .catch((error) => error);
    expect(down).toBeInstanceOf(RequestRefusedError);
    expect(down).toMatchObject({ status: 503, reason: "CHAIN_UNAVAILABLE" });
    expect(down.message).not.toContain("schema");
  });

  it("have one order on one connection, whichever networks they are for", async () => {
    const paths = [
      "/chains/dev/v1/health",
      "/other/v1/health",
      "/v1/health",
      "/late/v1/health",
      "/chains/dev",
    ];
    const { port } = new URL(first.url);
    const socket = connectTcp(Number(port), "127.0.0.1").setEncoding("utf8");
    const last = "connection: close\r\n";
    socket.write(
      paths.map((path, i) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${i === 4 ? last : ""}\r\n`).join(""),
    );
    let answers = "";
    for await (const chunk of socket) answers += chunk;
    expect(answers.match(/HTTP\/1.1 \d+/g)?.map((line) => line.slice(-3))).toEqual([
      "200",
      "200",
      "404",
      "503",
      "302",
    ]);
    expect(answers).toContain("location: /chains/dev/docs");
  });

  it.each([
    ["GET /v1/health", ["other.test"], 200],
    // The host in the request line counts, and not the header.
    ["GET http://OTHER.test:8080/v1/health", ["x"], 200],
    ["GET http://x/other/v1/health", ["x"], 200],
    ["GET http://x/v1/health", ["other.test"], 404],
    ["GET http://other.test", ["x"], 302],
    ["GET http:///v1/health", ["other.test"], 404],
    ["GET /other/v1/health", ["x", "x"], 400],
    ["GET http://other.test/v1/health", ["other.test", "x"], 400],
  ])("%s with the hosts %j gets %d", async (line, hosts, status) => {
    const head = [`${line} HTTP/1.1`, ...hosts.map((host) => `host: ${host}`), "connection: close"];
    const socket = connectTcp(Number(new URL(first.url).port), "127.0.0.1").setEncoding("utf8");
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (status === 200) expect(answer).toContain(`"chainId":${OTHER_CHAIN_ID}`);
    if (status === 400) expect(answer).toContain("MALFORMED_HTTP");
  });

  it("work with a key of the network alone, which its admin API makes", async () => {
    const { url } = await first.server.listenAdmin({ host: "127.0.0.1", port: 0 });
    const made = await fetch(`${url}/devnet/admin/v1/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ label: "of the devnet" }),
    });
    expect(made.status).toBe(201);
    const { key } = (await made.json()) as { key: string };
    const policy = (path: string) =>
      createWaiverClient({ url: `${second.url}${path}`, apiKey: key }).policy();
    await until(() =>
      policy("/chains/dev").then(
        ({ chainId }) => chainId === CHAIN_ID,
        () => false,
      ),
    );
    await expect(policy("/other")).rejects.toMatchObject({ status: 401 });
    expect((await fetch(`${url}/admin/v1/keys`)).status).toBe(404);
  });
});

describe("the SDK, with the path of a network in its url", () => {
  const at = (path: string) => ({ url: `${first.url}${path}`, apiKey: API_KEY });

  it("submits, lists and waits over HTTP", async () => {
    const client = createWaiverClient(at("/chains/dev/"));
    const hash = Transaction.from(await onDevnet(2)).hash;
    for await (const line of client.submit([await onDevnet(2)], { wait: "included" }))
      expect(line).toMatchObject({ success: true, txHash: hash });
    const hashes = [];
    for await (const record of client.list()) hashes.push(record.txHash);
    expect(hashes).toContain(hash);
    await expect(client.ready()).resolves.toMatchObject({ ready: true });
    await expect(client.check([await onDevnet(2, 1)])).resolves.toHaveLength(1);
  });

  it("submits over a WebSocket, and is told why it gets none", async () => {
    const socket = connect({ ...at("/other"), WebSocket });
    const lines = [];
    for await (const line of socket.submit([await onOther(2)], { wait: "included" })) lines.push(line);
    await socket.close();
    expect(lines).toMatchObject([{ success: true }]);
    const refused = new WebSocket(`${first.url.replace("http", "ws")}/other/v1/submit`);
    const status = await new Promise((resolve) => {
      refused
        .on("error", () => {})
        .on("unexpected-response", (_request, { statusCode }) => resolve(statusCode));
    });
    expect(status).toBe(401);
  });

  it("forwards as a relay of an application", async () => {
    const relay = createRelayHandler({ ...at("/chains/dev"), path: "/api/gasless", allow: () => true });
    const answer = await relay(
      new Request("http://app.test/api/gasless/v1/submit?wait=included", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ transactions: [await onDevnet(3)] }),
      }),
    );
    expect([answer.status, JSON.parse(await answer.text())]).toMatchObject([200, { success: true }]);
  });

  it("has the gateways of both chains, over HTTP and WebSocket", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
    const ids = await Promise.all(
      ["/chains/dev", "/other"].map(async (path) => {
        const response = await fetch(`${first.url}${path}/rpc/${PUBLIC_KEY}`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: "https://app.example.com" },
          body,
        });
        return (await response.json()) as unknown;
      }),
    );
    expect(ids).toMatchObject([{ result: "0x899" }, { result: "0x3dc" }]);
    const socket = new WebSocket(`${first.url.replace("http", "ws")}/other/rpc/${PUBLIC_KEY}`, {
      origin: "https://app.example.com",
    });
    const answer = await new Promise((resolve, reject) => {
      socket.on("open", () => socket.send(body)).on("message", (data) => resolve(JSON.parse(String(data))));
      socket.on("error", reject);
    });
    socket.close();
    expect(answer).toMatchObject({ result: "0x3dc" });
  });

  it("reads descriptions whose addresses have the path", async () => {
    const description = async (name: string) => {
      const response = await fetch(`${first.url}/chains/dev/v1/${name}`, {
        headers: { authorization: `Bearer ${API_KEY}` },
      });
      return (await response.json()) as { servers: unknown };
    };
    expect((await description("openapi.json")).servers).toEqual([{ url: "/chains/dev" }]);
    expect((await description("asyncapi.json")).servers).toMatchObject({
      service: { pathname: "/chains/dev" },
    });
  });
});

describe("several replicas", () => {
  it("work a lane of each network on one of them, and carry what either accepts", async () => {
    const transactions = await Promise.all([0, 1, 2, 3].map((nonce) => onDevnet(4, nonce)));
    const others = await Promise.all([0, 1, 2, 3].map((nonce) => onOther(4, nonce)));
    const lines = await Promise.all([
      submit(`${first.url}/chains/dev`, transactions.slice(0, 2), INCLUDED),
      submit(`${second.url}/chains/dev`, transactions.slice(2), INCLUDED),
      submit(`${second.url}/other`, others.slice(0, 2), INCLUDED),
      submit(`${first.url}/other`, others.slice(2), INCLUDED),
    ]);
    expect(lines.flat().filter(({ success }) => !success)).toEqual([]);
    expect(new Set(other.chain.executed).size).toBe(other.chain.executed.length);
  });
});

describe("new options of several networks", () => {
  const optionsOf = (maxBatchSizes: readonly [devnet: number, other: number]) =>
    networks().map((options, i) => ({ ...options, maxBatchSize: maxBatchSizes[i] ?? 100 })) as [
      NetworkOptions,
      NetworkOptions,
    ];
  const batchSizes = () =>
    Promise.all(
      ["/chains/dev", "/other"].map(async (path) => {
        const client = createWaiverClient({ url: `${first.url}${path}`, apiKey: API_KEY });
        return (await client.policy()).limits.maxBatchSize;
      }),
    );
  const change = (devnet: ReloadableOptions, other: ReloadableOptions) =>
    first.server.setOptionsOfAll({ devnet, other });

  it("are those of none where those of one have a problem, and all problems are named", async () => {
    const [devnetOptions, otherOptions] = optionsOf([7, 99]);
    const wrong = { ...otherOptions, apiKeys: ["short"], rateBurst: 0 };
    await expect(change(devnetOptions, wrong)).rejects.toThrow(/apiKeys.*rateBurst/s);
    await expect(
      first.server.setOptionsOfAll({ devnet: devnetOptions, none: devnetOptions }),
    ).rejects.toThrow("there is no network none");
    expect(await batchSizes()).toEqual([100, 100]);
  });

  it("are those of none while the store of one refuses, and then of all", async () => {
    const options = optionsOf([7, 99]);
    await sql("alter table gas_waiver_other.store_secrets rename to hidden");
    try {
      await expect(change(...options)).rejects.toThrow("store_secrets");
      expect(await batchSizes()).toEqual([100, 100]);
    } finally {
      await sql("alter table gas_waiver_other.hidden rename to store_secrets");
    }
    await change(...options);
    expect(await batchSizes()).toEqual([7, 99]);
    await change(...optionsOf([100, 100]));
    expect(await batchSizes()).toEqual([100, 100]);
  });
});

describe("the operators' port", () => {
  it("has the metrics of all networks on one page, each with its labels", async () => {
    const page = await (await fetch(`${first.operatorsUrl}/metrics`)).text();
    expect(page).toMatch(/^gas_waiver_accepted_total\{network="devnet",chain_id="2201"\} \d+$/m);
    expect(page).toMatch(/^gas_waiver_accepted_total\{network="other",chain_id="988"\} \d+$/m);
    expect(page).toMatch(/^gas_waiver_network_up\{network="newer",chain_id="5"\} 0$/m);
    expect(page).toMatch(/^gas_waiver_open_connections \d+$/m);
    const helps = page.match(/^# HELP \S+/gm) ?? [];
    expect(new Set(helps).size).toBe(helps.length);
    const own = await (await fetch(`${first.operatorsUrl}/other/metrics`)).text();
    expect(own).not.toContain('network="devnet"');
  });

  it("answers over loopback to local names alone, on the pages of all networks too", async () => {
    const paths = ["/metrics", "/livez", "/readyz", "/devnet/metrics"];
    const statuses = paths.map(async (path) => {
      const { status } = await callAs("rebound.evil.example", "GET", path, "", first.operatorsUrl);
      return status;
    });
    expect(await Promise.all(statuses)).toEqual([400, 400, 400, 400]);
  });

  it("is ready while one network is, and tells of each", async () => {
    const all = await fetch(`${first.operatorsUrl}/readyz`);
    expect([all.status, await all.json()]).toMatchObject([
      200,
      {
        ready: true,
        networks: {
          devnet: { ready: true },
          newer: { ready: false, message: expect.stringContaining("newer program") },
        },
      },
    ]);
    const statuses = ["/devnet/readyz", "/newer/readyz", "/livez", "/other/livez"].map(async (path) => {
      const { status } = await fetch(`${first.operatorsUrl}${path}`);
      return status;
    });
    expect(await Promise.all(statuses)).toEqual([200, 503, 200, 200]);
  });
});

describe("a network that is down", () => {
  it("holds up no other one, keeps what it has accepted, and finishes it when its node is back", async () => {
    await other.close();
    const waiting = submit(`${first.url}/other`, [await onOther(5)], INCLUDED);
    const [line] = await submit(`${second.url}/chains/dev`, [await onDevnet(5)], INCLUDED);
    expect(line).toMatchObject({ success: true });
    await other.open();
    expect(await waiting).toMatchObject([{ success: true }]);
  });

  it("runs as soon as it can, with the latest keys, if it could not at the start", async () => {
    expect(stateOf("late").trouble).toContain("node");
    expect(stateOf("newer").trouble).toContain("newer program");
    const beforeAnswers = deferred<void>();
    late.script = () => ({ kind: "later", after: beforeAnswers.promise });
    await late.open();
    await late.until(({ requests }) => requests.all > 0);
    // The attempt of one replica is under way.
    const { address, privateKey } = account(11);
    for (const { server } of [first, second])
      await server.setWaivers("late", [privateKeyWaiver(hexToBytes(privateKey))]);
    late.script = undefined;
    beforeAnswers.resolve();
    await until(async () => stateOf("late").trouble === undefined);
    const withKey = `select from gas_waiver_late.replicas where alive_until > now() and waivers = array['\\x${address.slice(2)}'::bytea]`;
    await until(async () => (await sql(withKey)).length === 2);
    const health = await createWaiverClient({ url: `${first.url}/late` }).health();
    expect(health.chainId).toBe(LATE_CHAIN_ID);
  });

  it("keeps no port closed while its start hangs, and runs with the latest options when it can", async () => {
    const holder = createConnection({ connectionString: databaseUrl });
    await holder.connect();
    await holder.query("begin; create schema gas_waiver_locked");
    const [dev, of] = [networks()[0] as NetworkOptions, networks()[2] as NetworkOptions];
    const locked = { ...of, name: "locked" };
    const server = await createNetworks({ databaseUrl, logLevel: "silent", networks: [dev, locked] });
    try {
      const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
      expect(server.networks.map(({ trouble }) => trouble)).toEqual([undefined, "it has not started yet"]);
      const answers = await Promise.all(
        ["/chains/dev/v1/health", "/locked/v1/health"].map((path) => fetch(`${url}${path}`)),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 503]);
      expect(answers[1]?.headers.get("retry-after")).toMatch(/^\d+$/);
      await expect(server.setOptions("locked", { apiKeys: ["short"] })).rejects.toThrow(/apiKeys/);
      await server.setOptions("locked", { ...locked, maxBatchSize: 1 });
      await holder.query("rollback");
      await until(async () => server.networks[1]?.trouble === undefined);
      await until(() =>
        submit(`${url}/locked`, ["0x", "0x"]).then(
          () => false,
          ({ message }: Error) => message.includes("413"),
        ),
      );
    } finally {
      await holder.end();
      await server.close();
    }
  });

  it("is tried again also while the start of the only other one hangs", async () => {
    const holder = createConnection({ connectionString: databaseUrl });
    await holder.connect();
    await holder.query("begin; create schema gas_waiver_stuck");
    const failing = await ScriptedNode.start();
    failing.chain.chainId = 4711;
    let firstAt: number | undefined;
    // The second attempt comes a second after the first.
    failing.script = () => {
      firstAt ??= performance.now();
      return performance.now() - firstAt < 900 ? { kind: "answer", status: 500, body: "" } : undefined;
    };
    const [stuck, again] = [networks()[2] as NetworkOptions, networks()[0] as NetworkOptions];
    const starting = createNetworks({
      ...{ databaseUrl, logLevel: "silent" },
      networks: [
        { ...stuck, name: "stuck" },
        { ...again, name: "again", chainId: 4711, rpcUrl: failing.url, path: "/again" },
      ],
    });
    try {
      const server = await starting;
      expect(server.networks.map(({ trouble }) => trouble)).toEqual(["it has not started yet", undefined]);
    } finally {
      await holder.end();
      await starting.then((server) => server.close());
      await failing.close();
    }
  });

  it("leaves no connection to the database behind, however often it was tried", async () => {
    await Promise.all([first, second].map(({ server }) => server.close()));
    const ofService =
      "select from pg_stat_activity where datname = current_database() and application_name like 'gas-waiver%'";
    await until(async () => (await sql(ofService)).length === 0);
    first = await startReplica();
    expect(stateOf("late").trouble).toBeUndefined();
  });

  it("keeps the service from starting only if there is no other one", async () => {
    const newer = networks().filter(({ name }) => name === "newer");
    await expect(createNetworks({ databaseUrl, logLevel: "silent", networks: newer })).rejects.toThrow(
      /^no network can start: newer: .*newer program/,
    );
  });
});

const stateOf = (name: string) => {
  const state = first.server.networks.find((network) => network.name === name);
  if (state === undefined) throw new Error(`there is no network ${name}`);
  return state;
};

/** Polls until the condition holds; the time limit of the test bounds it. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function sql(statement: string): Promise<unknown[]> {
  const connection = createConnection({ connectionString: databaseUrl });
  await connection.connect();
  const { rows } = await connection.query(statement);
  await connection.end();
  return rows;
}

function callAs(host: string, method: string, path: string, body: string, url = first.url) {
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const headers = { host, authorization: `Bearer ${API_KEY}`, "content-type": "application/json" };
    request(`${url}${path}`, { method, headers }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve({ status: response.statusCode, text });
    })
      .on("error", reject)
      .end(body);
  });
}
