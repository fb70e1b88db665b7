// The operators' API (D25), over HTTP.
import { beforeAll, describe, expect, it } from "vitest";
import { TestService, testServices } from "../../test/support/testService.js";
import { hashOf, innerOf } from "../../test/support/user.js";
import { ADMIN_ROUTES } from "./routes.js";

const TOKEN = "an-operators-token-of-32-characters-and-more";
const adminTokens = [
  { name: "alice", token: TOKEN },
  { name: "bob", token: `${TOKEN}-of-bob` },
  { name: "vera", token: `${TOKEN}-of-vera`, role: "viewer" },
  { name: "otto", token: `${TOKEN}-of-otto`, role: "operator" },
  { name: "eve", token: `${TOKEN}-of-eve`, expiresAt: new Date("2020-01-31T00:00:00Z") },
] as const;
const services = testServices({ reach: "tcp" });

/** A service with its admin API open. */
async function start() {
  return await openAdmin(await services.start({ apiKeys: [], adminTokens }));
}

async function openAdmin(service: TestService) {
  const { url } = await service.server.listenAdmin({ host: "127.0.0.1", port: 0 });
  const call = async (method: string, path: string, body?: unknown, token = TOKEN) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const answer = await fetch(`${url}/admin/v1/${path}`, { method, headers, ...(text && { body: text }) });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };
  return { service, url, call };
}

describe("a request that the admin API refuses", () => {
  const shared = services.shared({ apiKeys: [], adminTokens });
  let admin: Awaited<ReturnType<typeof openAdmin>>;
  beforeAll(async () => {
    admin = await openAdmin(shared());
  });

  it.each([
    ["POST", "keys", { label: 5 }, 400, "INVALID_KEY_TERMS"],
    ["POST", "keys", "{", 400, "MALFORMED_JSON"],
    ["POST", "keys", undefined, 400, "INVALID_KEY_TERMS"],
    ["GET", "keys?limit=0", undefined, 400, "MALFORMED_QUERY"],
    ["GET", "keys?after=x", undefined, 400, "MALFORMED_QUERY"],
    ["GET", "keys?state=active", undefined, 400, "MALFORMED_QUERY"],
    ["GET", "audit?before=abc", undefined, 400, "MALFORMED_QUERY"],
    ["GET", "keys/0123456789abcdef", undefined, 404, "NO_SUCH_KEY"],
    ["POST", "keys/0123456789abcdef/rotate", { overlapSeconds: -1 }, 400, "INVALID_KEY_TERMS"],
    ["POST", "keys/0123456789abcdef/rotate", { overlap: 1 }, 400, "INVALID_KEY_TERMS"],
    ["GET", "keys/%00", undefined, 404, "NO_SUCH_KEY"],
    ["PATCH", `keys/${"a".repeat(200)}`, { label: "a" }, 404, "NO_SUCH_KEY"],
    ["POST", "keys/%00/rotate", undefined, 404, "NO_SUCH_KEY"],
    ["DELETE", "keys/0123456789abcdef", undefined, 405, "NO_SUCH_METHOD"],
    ["GET", "nothing", undefined, 404, "NO_SUCH_PATH"],
  ])("%s %s with %j: %d %s", async (method, path, body, status, reason) => {
    const answer = await admin.call(method, path, body);
    expect([answer.status, answer.body.error.reason]).toEqual([status, reason]);
  });
});

describe("the admin API", () => {
  it("creates a key that may submit at once, changes, disables, enables, rotates and revokes it, and records the actor", async () => {
    const { service, call } = await start();
    const created = await call("POST", "keys", { label: "shop", limits: { maxBatchSize: 3 } });
    expect(created.status).toBe(201);
    expect(created.headers.get("cache-control")).toBe("no-store");
    const { key, record } = created.body;
    expect(record).toMatchObject({ label: "shop", state: "active", limits: { maxBatchSize: 3 } });
    const withKey = (bearer: string) => ({ headers: { authorization: `Bearer ${bearer}` } });
    expect(await service.submit([innerOf(1)], withKey(key))).toMatchObject([{ success: true }]);

    const path = `keys/${record.id}`;
    expect((await call("PATCH", path, { caps: { gas: 5 }, limits: null })).body).toMatchObject({
      caps: { gas: "5" },
    });
    expect((await call("GET", path)).body).not.toHaveProperty("limits");
    const statusOfKey = async () => (await service.post(`{"transactions":["0x"]}`, withKey(key))).status;
    expect((await call("POST", `${path}/disable`)).body).toMatchObject({ state: "disabled" });
    expect(await statusOfKey()).toBe(401);
    expect((await call("POST", `${path}/enable`)).body).toMatchObject({ state: "active" });
    expect(await statusOfKey()).toBe(200);
    const rotated = await call("POST", `${path}/rotate`, { overlapSeconds: 60 }, `${TOKEN}-of-bob`);
    expect(rotated.body).toMatchObject({ key: expect.stringMatching(/^gw_/), record: { state: "active" } });
    expect(Date.parse(rotated.body.record.previousSecretUntil)).toBeGreaterThan(Date.now());
    expect((await call("POST", `${path}/rotate`)).status).toBe(200);
    expect((await call("POST", `${path}/revoke`)).body).toMatchObject({ state: "revoked" });
    const again = await call("PATCH", path, { label: "x" });
    expect([again.status, again.body.error.reason]).toEqual([409, "KEY_STATE_FINAL"]);

    const { entries } = (await call("GET", `audit?key=${record.id}`)).body;
    expect(
      entries.map((entry: { actor: string; action: string }) => `${entry.actor}: ${entry.action}`),
    ).toEqual([
      "admin token alice: revoke",
      "admin token alice: rotate",
      "admin token bob: rotate",
      "admin token alice: enable",
      "admin token alice: disable",
      "admin token alice: update",
      "admin token alice: create",
    ]);
    expect(JSON.stringify(entries)).not.toContain(key.slice(-48));
    // An error does not repeat a whole key that was sent in place of its id.
    const whole = await call("GET", `keys/${key}`);
    expect(whole.body.error.reason).toBe("NO_SUCH_KEY");
    expect(JSON.stringify(whole.body)).not.toContain(key.slice(-48, -32));
  });

  it("lists keys and audit entries page by page", async () => {
    const { call } = await start();
    const labels = ["a", "b", "c"];
    for (const label of labels) await call("POST", "keys", { label });
    const first = (await call("GET", "keys?limit=2")).body;
    const second = (await call("GET", `keys?limit=2&after=${first.next}`)).body;
    expect(second).not.toHaveProperty("next");
    expect([...first.keys, ...second.keys].map(({ label }: { label: string }) => label)).toEqual(labels);
    const latest = (await call("GET", "audit?limit=1")).body;
    const earlier = (await call("GET", `audit?before=${latest.next}`)).body;
    const created = earlier.entries.filter(({ action }: { action: string }) => action === "create");
    expect(created.map(({ keyId }: { keyId: string }) => keyId)).toEqual(
      [first.keys[1], first.keys[0]].map(({ id }: { id: string }) => id),
    );
    expect(created[0]).toMatchObject({
      source: "127.0.0.1",
      tokenId: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  it("needs an operator's token on every route, accepts no API key for it, and no token as an API key", async () => {
    const { service, url, call } = await start();
    for (const { method, path } of Object.values(ADMIN_ROUTES)) {
      const route = path.replace("/admin/v1/", "").replace(":id", "0123456789abcdef");
      const { status, headers, body } = await call(method, route, undefined, `${TOKEN}x`);
      expect([status, headers.get("www-authenticate"), body.error.code]).toEqual([
        401,
        "Bearer",
        "UNAUTHORIZED",
      ]);
    }
    for (const method of ["GET", "HEAD"]) {
      expect((await fetch(`${url}/admin/v1/keys`, { method })).status).toBe(401);
    }
    const { key } = (await call("POST", "keys", { label: "k" })).body;
    expect((await call("GET", "keys", undefined, key)).status).toBe(401);
    const ready = await service.call("GET", "/v1/ready", undefined, { authorization: `Bearer ${TOKEN}` });
    expect(ready.status).toBe(401);
    expect((await service.call("GET", "/admin/v1/keys")).status).toBe(404);
  });

  it("lets each role do what it may, and no token after its expiry", async () => {
    const { call } = await start();
    const { record } = (await call("POST", "keys", { label: "k" })).body;
    const path = `keys/${record.id}`;
    const requests = {
      viewer: [
        ["GET", "keys"],
        ["GET", path],
        ["GET", "audit"],
      ],
      operator: [
        ["POST", `${path}/disable`],
        ["POST", `${path}/enable`],
        ["POST", `${path}/revoke`],
      ],
      admin: [
        ["POST", "keys"],
        ["PATCH", path],
        ["POST", `${path}/rotate`],
      ],
    } as const;
    const outcomes = async (role: keyof typeof requests, name: string) => {
      const answers = [];
      for (const [method, route] of requests[role]) {
        const { status, body } = await call(method, route, undefined, `${TOKEN}-of-${name}`);
        answers.push(status === 403 ? body.error.reason : status === 401 ? body.error.reason : "passes");
      }
      return [...new Set(answers)];
    };
    expect(await outcomes("admin", "otto")).toEqual(["ROLE_TOO_LOW"]);
    expect(await outcomes("operator", "vera")).toEqual(["ROLE_TOO_LOW"]);
    expect(await outcomes("admin", "vera")).toEqual(["ROLE_TOO_LOW"]);
    for (const name of ["vera", "otto", "bob"]) expect(await outcomes("viewer", name)).toEqual(["passes"]);
    for (const name of ["otto", "bob"]) expect(await outcomes("operator", name)).toEqual(["passes"]);
    expect(await outcomes("admin", "bob")).toEqual(["passes"]);
    expect(await outcomes("viewer", "eve")).toEqual(["KEY_EXPIRED"]);
  });

  it("slows down an address that guesses tokens, but not the tokens that it has used", async () => {
    const { call } = await start();
    expect((await call("GET", "keys")).status).toBe(200);
    let guess = await call("GET", "keys", undefined, "a-guess");
    while (guess.status === 401) guess = await call("GET", "keys", undefined, "a-guess");
    expect([guess.status, guess.body.error.reason]).toEqual([429, "TOO_MANY_UNKNOWN_KEYS"]);
    expect(Number(guess.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await call("GET", "keys", undefined, `${TOKEN}-of-bob`)).status).toBe(429);
    expect((await call("GET", "keys")).status).toBe(200);
  });

  it("tells of submissions of any API key what they wait for, by id, hash, wrapper and sender, and lists what is stuck", async () => {
    const { service, call } = await start();
    const created = await call("POST", "keys", { label: "shop" });
    const headers = { authorization: `Bearer ${created.body.key}` };
    const withKey = { headers, query: "?wait=included" };
    const accepted = () => service.post(JSON.stringify({ transactions: [innerOf(1)] }), withKey);
    let reply = await accepted();
    while (reply.status === 401) reply = await accepted();
    const { id, txHash } = JSON.parse(reply.text);
    const keyId = created.body.record.id;
    const [row] = await service.until<{ hash: string; sender: string }>(
      "select '0x' || encode(wrapper_hash, 'hex') as hash, '0x' || encode(sender, 'hex') as sender from finished",
    );
    const names = [id, txHash, row?.hash, row?.sender, String(txHash).toUpperCase().replace("0X", "0x")];
    for (const name of names) {
      const { status, body } = await call("GET", `why/${name}`);
      expect([status, body.submissions]).toMatchObject([
        200,
        [
          {
            keyId,
            record: { id, state: "included" },
            why: expect.stringContaining("worked"),
            next: "Nothing.",
          },
        ],
      ]);
    }
    service.node.chain.reverting.add(hashOf(innerOf(3)));
    await service.post(JSON.stringify({ transactions: [innerOf(3)] }), withKey);
    expect((await call("GET", `why/${hashOf(innerOf(3))}`)).body.submissions).toMatchObject([
      {
        why: expect.stringContaining("reverted"),
        next: expect.stringContaining(`gas-waiver explain ${hashOf(innerOf(3))}`),
      },
    ]);
    expect((await call("GET", `why/0x${"00".repeat(32)}`)).body).toEqual({ submissions: [] });
    expect((await call("GET", "why/nonsense")).body.error.reason).toBe("MALFORMED_QUERY");
    expect((await call("GET", "stuck?olderThanSeconds=x")).body.error.reason).toBe("MALFORMED_QUERY");

    await service.query("update lanes set state = 'stopped', reason = 'a colleague looks at it'");
    const waiting = JSON.stringify({ transactions: [innerOf(2)] });
    const json = { ...headers, "content-type": "application/json" };
    void service.open("POST", "/v1/submit", waiting, json).catch(() => {});
    await service.until("select from unfinished");
    const { body } = await call("GET", "stuck?olderThanSeconds=0");
    expect(body.submissions).toMatchObject([
      {
        keyId,
        record: { state: expect.stringMatching(/queued|signed/) },
        why: "its lane has stopped: a colleague looks at it",
        next: expect.stringContaining("gas-waiver lanes open"),
      },
    ]);
  });

  it("does not open without a token", async () => {
    const service = await services.start();
    await expect(service.server.listenAdmin({ host: "127.0.0.1", port: 0 })).rejects.toThrow("needs a token");
    const tokens = [{ name: "alice", token: "too-short" }];
    const { node, databaseUrl } = service;
    const started = TestService.start({ node, databaseUrl, changes: { adminTokens: tokens } });
    await expect(started).rejects.toThrow(/adminTokens\[0\] is not 32 to 256/);
    await expect(started).rejects.not.toThrow("too-short");
  });

  it("answers 503 while the store cannot be reached", async () => {
    const { service, call } = await start();
    await service.until("select from lanes where owner is not null");
    await services.databases.halt();
    const answer = await call("GET", "keys");
    await services.databases.resume();
    expect([answer.status, answer.body.error.reason]).toEqual([503, "STORE_UNAVAILABLE"]);
    expect((await call("GET", "keys")).status).toBe(200);
  });
});
