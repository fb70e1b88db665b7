// The running service against its OpenAPI and AsyncAPI descriptions: every route, every status, every frame.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { CLOSE_CODES, type Reason, ROUTES, statusOf } from "@gas-waiver/protocol";
import {
  COMMON_REFUSALS,
  headersOf,
  NO_ROUTE_REFUSALS,
  ROUTE_DEFINITIONS,
  type RouteName,
} from "@gas-waiver/protocol/description";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerMalformedRequest } from "../../src/http/errors.js";
import { openKeyAdmin } from "../../src/keys/keyAdmin.js";
import { Description } from "../support/description.js";
import { failRecords } from "../support/failRecords.js";
import { ModelRegistry } from "../support/modelRegistry.js";
import { replyFrom, replyToBytes } from "../support/rawReply.js";
import type { ScriptedNode } from "../support/scriptedNode.js";
import { API_KEY, GOOD_HEADERS, type Reply, type TestService, testServices } from "../support/testService.js";
import { type Frame, TestSocket } from "../support/testSocket.js";
import { upgradeRequest } from "../support/upgradeRequest.js";
import { innerOf } from "../support/user.js";

type SendRequest = (service: TestService) => Promise<Reply>;
type RequestByStatus = Readonly<Record<number, SendRequest>>;

const RATE_LIMITED_KEY = "gw_test_limited_secret-of-the-limited";
const PUBLISHABLE_KEY = "gwp_test_page";
const LIMITS = {
  apiKeys: [API_KEY, RATE_LIMITED_KEY],
  publicApiKeys: [PUBLISHABLE_KEY],
  maxBatchSize: 4,
  ratePerSecond: 1,
  rateBurst: 100,
  readRatePerSecond: 1,
  readBurst: 100,
  queueCapacity: 3,
  keyQueueShare: 1,
  maxBodyBytes: 10_000,
};

const get =
  (path: string, headers: Record<string, string> = GOOD_HEADERS): SendRequest =>
  (service) =>
    service.call("GET", path, undefined, headers);
const post =
  (body: string, headers: Record<string, string> = {}, query = ""): SendRequest =>
  (service) =>
    service.post(body, { headers, query });
const postCheck =
  (body: string, headers: Record<string, string> = {}, query = ""): SendRequest =>
  (service) =>
    service.call("POST", `/v1/check${query}`, body, { ...GOOD_HEADERS, ...headers });
const batch = (count: number) => JSON.stringify({ transactions: Array(count).fill("0x") });
const UNKNOWN = "/v1/submissions/019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a71";

const UPGRADE = upgradeRequest(API_KEY);

/** Sends until the key's rate is used up. */
const tooMany =
  (send: typeof post): SendRequest =>
  async (service) => {
    const headers = { authorization: `Bearer ${RATE_LIMITED_KEY}` };
    for (;;) {
      const reply = await send(batch(3), headers)(service);
      if (reply.status !== 200) return reply;
    }
  };

/** Reads until the key's rate of reads is used up. */
const tooManyReads =
  (path: string): SendRequest =>
  async (service) => {
    for (;;) {
      const reply = await get(path, { authorization: `Bearer ${RATE_LIMITED_KEY}` })(service);
      if (reply.status !== 200 && reply.status !== 404) return reply;
    }
  };

/** A key in the form of the store's. It does not count as a guess, so its address is not slowed down. */
const UNKNOWN_KEY = `Bearer gw_test_${"0".repeat(16)}_${"0".repeat(48)}`;

/** Uses a publishable key from a page that it is not for. */
const FOREIGN_PAGE = { authorization: `Bearer ${PUBLISHABLE_KEY}`, origin: "https://evil.example" };

/** Sends guesses of a key until its address is slowed down. */
const tooManyUnknownKeys =
  (path: string): SendRequest =>
  async (service) => {
    for (;;) {
      const reply = await get(path, { authorization: "Bearer gw_test_nobody" })(service);
      if (reply.status !== 401) return reply;
    }
  };

/** Sends two different requests under one idempotency key. */
const reuseIdempotencyKey: SendRequest = async (service) => {
  // A request without a valid transaction leaves nothing behind that its key could stand for.
  const bodyOf = (user: number) => JSON.stringify({ transactions: [innerOf(user)] });
  await post(bodyOf(11), { "idempotency-key": "a" })(service);
  return await post(bodyOf(12), { "idempotency-key": "a" })(service);
};

const recordOf: SendRequest = async (service) => {
  const [line] = await service.submit([innerOf(1)], { query: "?wait=included" });
  return await get(`/v1/submissions/${line?.id}`)(service);
};

const listOf: SendRequest = async (service) => {
  await service.submit([innerOf(4)], { query: "?wait=included" });
  return await get("/v1/submissions?limit=1")(service);
};

/** The request for each status of each route of a working service. A route without an entry does not compile. */
const HEALTHY: Readonly<Record<RouteName, RequestByStatus>> = {
  submit: {
    200: (service) =>
      post(JSON.stringify({ transactions: [innerOf(2), innerOf(3, 0, { gasPrice: 1n }), "0x"] }))(service),
    400: post("{"),
    401: post(batch(1), { authorization: UNKNOWN_KEY }),
    403: post(batch(1), FOREIGN_PAGE),
    413: post(batch(5)),
    415: post(batch(1), { "content-type": "text/plain" }),
    422: reuseIdempotencyKey,
    429: tooMany(post),
    503: post(batch(4)),
  },
  socket: {
    101: (service) => replyToBytes(service, `${UPGRADE.join("\r\n")}\r\n\r\n`),
    401: get("/v1/submit", {}),
    403: get("/v1/submit", FOREIGN_PAGE),
    429: tooManyUnknownKeys("/v1/submit"),
    426: get("/v1/submit"),
  },
  check: {
    200: (service) =>
      postCheck(JSON.stringify({ transactions: [innerOf(4), innerOf(5, 0, { gasPrice: 1n }), "0x"] }))(
        service,
      ),
    400: postCheck(batch(1), {}, "?simulate=perhaps"),
    401: postCheck(batch(1), { authorization: UNKNOWN_KEY }),
    403: postCheck(batch(1), FOREIGN_PAGE),
    413: postCheck(batch(5)),
    415: postCheck(batch(1), { "content-type": "text/plain" }),
    429: tooMany(postCheck),
  },
  policy: {
    200: get("/v1/policy"),
    401: get("/v1/policy", {}),
    403: get("/v1/policy", FOREIGN_PAGE),
    429: tooManyReads("/v1/policy"),
  },
  submission: {
    200: recordOf,
    401: get(UNKNOWN, {}),
    403: get(UNKNOWN, FOREIGN_PAGE),
    404: get(UNKNOWN),
    429: tooManyReads(UNKNOWN),
  },
  submissions: {
    200: listOf,
    400: get("/v1/submissions?limit=0"),
    401: get("/v1/submissions", {}),
    403: get("/v1/submissions", FOREIGN_PAGE),
    429: tooManyReads("/v1/submissions"),
  },
  health: { 200: get("/v1/health", {}) },
  ready: {
    200: get("/v1/ready"),
    401: get("/v1/ready", {}),
    403: get("/v1/ready", FOREIGN_PAGE),
    429: tooManyUnknownKeys("/v1/ready"),
  },
  openApi: {
    200: get("/v1/openapi.json"),
    401: get("/v1/openapi.json", {}),
    403: get("/v1/openapi.json", FOREIGN_PAGE),
    429: tooManyReads("/v1/openapi.json"),
  },
  asyncApi: {
    200: get("/v1/asyncapi.json"),
    401: get("/v1/asyncapi.json", {}),
    403: get("/v1/asyncapi.json", FOREIGN_PAGE),
    429: tooManyReads("/v1/asyncapi.json"),
  },
  docs: { 200: get("/docs", {}) },
};

/** The same for a service without its store. */
const STORE_AWAY: Partial<Record<RouteName, RequestByStatus>> = {
  submit: { 503: post(batch(1)) },
  submission: { 503: get(UNKNOWN) },
  submissions: { 503: get("/v1/submissions") },
  ready: { 503: get("/v1/ready") },
};

/** The same for a service that does not know its policies yet, because the node is away. */
const CHAIN_AWAY: Partial<Record<RouteName, RequestByStatus>> = {
  submit: { 503: post(batch(1)) },
  check: { 503: postCheck(batch(1)) },
  policy: { 503: get("/v1/policy") },
};

/** The same for a service that fails, because its tables are gone. */
const FAILING: Partial<Record<RouteName, RequestByStatus>> = { submission: { 500: get(UNKNOWN) } };

/** The same for a service that shuts down, for requests on a connection that is open already. */
const CLOSING: Partial<Record<RouteName, Record<number, (service: TestService) => Promise<Reply>>>> = {
  socket: { 503: whileClosing },
};

/** Begins a request before the shutdown, and finishes it when the service accepts no more connections. */
async function whileClosing(service: TestService): Promise<Reply> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const arrived = new Promise<void>((resolve) => socket.once("data", () => resolve()));
  socket.write("GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n");
  await arrived;
  const [, ...fields] = UPGRADE.filter((line) => !/^(?:Upgrade|Connection)/.test(line));
  socket.write("GET /v1/submit HTTP/1.1\r\n");
  // After this answer on another connection, the service has read what has been written. It closes idle connections at once.
  await service.call("GET", "/v1/health");
  const closed = service.server.close();
  const refuses = () =>
    service.call("GET", "/v1/health").then(
      () => false,
      () => true,
    );
  while (!(await refuses()));
  socket.write(`${fields.join("\r\n")}\r\n\r\n`);
  const reply = await replyFrom(socket);
  await closed;
  return reply;
}

const services = testServices({ reach: "tcp" });
const shared = services.shared(LIMITS);
let description: Description;
beforeAll(async () => {
  const [openApi, asyncApi] = await Promise.all(
    ["/v1/openapi.json", "/v1/asyncapi.json"].map(async (path) =>
      JSON.parse((await get(path)(shared())).text),
    ),
  );
  description = new Description(openApi, asyncApi);
});

/** The statuses that need no request for each route, because the same code answers them for all routes. */
const COMMON = new Set(COMMON_REFUSALS.map(statusOf));

function untested(name: RouteName): number[] {
  const tested = [HEALTHY, STORE_AWAY, CHAIN_AWAY, FAILING, CLOSING].flatMap((requests) =>
    Object.keys(requests[name] ?? {}),
  );
  const own = new Set(ROUTE_DEFINITIONS[name].refusals.map(statusOf));
  return description
    .statusesOf(name)
    .filter((status) => !tested.includes(String(status)) && (own.has(status) || !COMMON.has(status)));
}

const cases = (requests: Partial<Record<RouteName, RequestByStatus>>) =>
  (Object.entries(requests) as [RouteName, RequestByStatus][]).flatMap(([name, byStatus]) =>
    Object.entries(byStatus).map(([status, sendRequest]) => [name, Number(status), sendRequest] as const),
  );

/** The page at /docs is outside the versioned interface, and therefore not in the description. */
function expectAsDescribed(name: RouteName, reply: Reply): void {
  if (name !== "docs") expect(description.problemsOf(name, reply)).toEqual([]);
}

async function expectEach(
  requests: Partial<Record<RouteName, RequestByStatus>>,
  service: TestService,
): Promise<void> {
  for (const [name, status, sendRequest] of cases(requests)) {
    const reply = await sendRequest(service);
    expect(reply.status, `${name}: ${reply.text}`).toBe(status);
    expectAsDescribed(name, reply);
  }
}

describe("a working service", () => {
  it.each(cases(HEALTHY))("answers %s: %i as described", async (name, status, sendRequest) => {
    await expectEach({ [name]: { [status]: sendRequest } }, shared());
  });

  it("leads from its address to the page, without a key", async () => {
    const response = await shared().open("GET", "/");
    expect([response.statusCode, response.headers.location]).toEqual([302, "/docs"]);
    response.destroy();
  });

  it.each(Object.keys(ROUTES) as RouteName[])(
    "%s: every described status has a request in this test",
    (name) => {
      expect(name === "docs" ? [] : untested(name)).toEqual([]);
    },
  );

  it.each<[Reason, string, string]>([
    ["NO_SUCH_PATH", "GET", "/v1/nothing"],
    ["NO_SUCH_METHOD", "DELETE", "/v1/submit"],
  ])("answers a path without a route as described: %s", async (reason, method, path) => {
    expect(NO_ROUTE_REFUSALS).toContain(reason);
    const reply = await shared().call(method, path);
    expect(reply.status).toBe(statusOf(reason));
    expect(reply.headers).toEqual(expect.objectContaining(anythingIn(headersOf(reason))));
    expect(description.problemsOfRefusal(reply)).toEqual([]);
  });

  it.each([
    ["MALFORMED_HTTP", "SSH-2.0-client\r\n\r\n"],
    ["HEAD_TOO_LARGE", `GET /v1/health HTTP/1.1\r\nA: ${"a".repeat(20_000)}\r\n\r\n`],
  ] as const)("answers bytes that are not a request as described: %s", async (reason, bytes) => {
    expectAsDescribed("health", await expectReason(await replyToBytes(shared(), bytes), reason));
  });
});

describe("a service whose store is away", () => {
  const service = services.shared();
  beforeAll(async () => {
    // Waits until the lanes have started.
    await service().until("select from lanes where owner is not null");
    await services.databases.halt();
    // Readiness tells a trouble of the store once it lasts.
    while ((await service().call("GET", "/v1/ready", undefined, GOOD_HEADERS)).status !== 503);
  });
  afterAll(() => services.databases.resume());

  it("answers as described", async () => {
    await expectEach(STORE_AWAY, service());
  });
});

describe("a service whose node is away", () => {
  it("answers as described", async () => {
    const prepare = ({ chain }: ScriptedNode) => {
      chain.registry = new ModelRegistry();
    };
    const first = await services.start({ policySource: "registry" }, { prepare });
    await first.server.close();
    await first.node.close();
    await expectEach(CHAIN_AWAY, services.closeAfterTest(await first.startReplica()));
  });
});

describe("a service that fails", () => {
  it("answers as described", async () => {
    const service = await services.start();
    await failRecords(service);
    await expectEach(FAILING, service);
  });
});

describe("a service that shuts down", () => {
  it("answers as described", async () => {
    await expectEach(CLOSING, await services.start());
  });
});

describe("a request that does not arrive in time", () => {
  it("is answered as described", async () => {
    // The service waits for seconds. A server with a shorter time-out uses the same handler here.
    const times = { requestTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 10 };
    const server = createServer(times).on("clientError", answerMalformedRequest).listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write("POST /v1/submit HTTP/1.1\r\nHost: x\r\n");
    expectAsDescribed("submit", await expectReason(await replyFrom(socket), "REQUEST_TOO_SLOW"));
    server.close();
  });
});

function expectReason(reply: Reply, reason: Reason): Reply {
  expect(reply.status).toBe(statusOf(reason));
  expect(JSON.parse(reply.text).error.reason).toBe(reason);
  return reply;
}

function anythingIn(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name.toLowerCase(), expect.any(String)]));
}

describe("the WebSocket", () => {
  it("sends all described frames and no others", async () => {
    const service = await services.start({ maxBodyBytes: 10_000 });
    const client = await TestSocket.open(service);
    const received: Frame[] = [];
    const exchange = async (frame: unknown) => {
      client.send(frame);
      received.push(...(await client.framesOfRequest()));
    };
    const submit = { id: 1, transactions: [innerOf(1), "0x"], wait: "included" };
    await exchange(submit);
    const watch = { id: "again", watch: [received.find(({ success }) => success)?.id, "unknown"] };
    await exchange(watch);
    await exchange({ id: 2, transactions: [] });
    await exchange("not JSON");
    expect([submit, watch].map((frame) => description.nameOfFrame(frame))).toEqual(["submit", "watch"]);
    const names = received.map((frame) => description.nameOfFrame(frame));
    expect([...new Set(names)].sort()).toEqual(["done", "error", "line"]);
  });

  it("closes with all described codes and no others", async () => {
    const service = await services.start({ maxBodyBytes: 10_000, maxHeldBytes: 65_536 });
    const admin = await openKeyAdmin({ databaseUrl: service.databaseUrl });
    const { key, record } = await admin.create("tests", { label: "to be revoked" });
    // Waits for the notification of the new key.
    const useNewKey: SendRequest = get("/v1/ready", { authorization: `Bearer ${key}` });
    while ((await useNewKey(service)).status === 401);
    const [revoked, large, waiting] = await Promise.all(
      [key, API_KEY, API_KEY].map((one) => TestSocket.open(service, one)),
    );
    const codes: (number | undefined)[] = [];
    await admin.revoke("tests", record.id);
    codes.push(await revoked?.closed);
    await admin.close();
    large?.send({ id: 1, transactions: [`0x${"00".repeat(10_000)}`] });
    codes.push(await large?.closed);
    // Opens more unfinished messages than there is memory for.
    const parts = await Promise.all([1, 2, 3, 4].map(() => TestSocket.open(service)));
    for (const { socket } of parts) socket.send("x".repeat(9_000), { fin: false });
    codes.push(await Promise.race(parts.map(({ closed }) => closed)));
    for (const { socket } of parts) socket.terminate();
    await service.server.close();
    codes.push(await waiting?.closed);
    expect(codes).toEqual([
      CLOSE_CODES.policyViolation,
      CLOSE_CODES.messageTooBig,
      CLOSE_CODES.tryAgainLater,
      CLOSE_CODES.serviceRestart,
    ]);
    expect(description.closeCodes.sort()).toEqual(codes.sort());
  });
});
