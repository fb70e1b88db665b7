// Publishable keys (D32): who may use them, what they see, and the effect of one address on the rest.
import { once } from "node:events";
import { bytesToHex, SOCKET_PROTOCOL } from "@gas-waiver/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type OpenKeyAdmin, openKeyAdmin } from "../../src/keys/keyAdmin.js";
import { API_KEY, OTHER_API_KEY, outcomeOf, type Reply, testServices } from "../support/testService.js";
import { TestSocket } from "../support/testSocket.js";
import { hashOf, innerOf, TOKEN } from "../support/user.js";

const PAGE = "https://app.example.com";
const TARGETS = [{ address: bytesToHex(TOKEN), selectors: ["0xa9059cbb"] }];

const services = testServices();
/** Requests name their addresses, as if a proxy had. */
const shared = services.shared({ trustedProxies: ["127.0.0.1"], publicApiKeys: ["gwp_test_local"] });
let admin: OpenKeyAdmin;
let pageKey: string;
let pageKeyId: string;
let walletKey: string;

const fieldsOf = (key: string, origin: string | undefined, address = "192.0.2.1") => ({
  authorization: `Bearer ${key}`,
  "content-type": "application/json",
  "x-forwarded-for": address,
  ...(origin !== undefined && { origin }),
});
const bodyOf = (...transactions: string[]) => JSON.stringify({ transactions });
const errorOf = ({ text }: Reply) => JSON.parse(text).error;
const get = (path: string, headers: Record<string, string>) => shared().call("GET", path, undefined, headers);

async function untilKnown(key: string, origin: string | undefined): Promise<void> {
  while ((await get("/v1/policy", fieldsOf(key, origin))).status === 401);
}

beforeAll(async () => {
  admin = await openKeyAdmin({ databaseUrl: shared().databaseUrl });
  const terms = { publishable: true, allowedTargets: TARGETS };
  const ofPage = await admin.create("tests", { label: "page", ...terms, origins: [PAGE] });
  const caps = { transactions: 1_000, gas: "1000000000" };
  const limits = { addressRatePerSecond: 1, addressRateBurst: 20 };
  const ofWallets = await admin.create("tests", {
    ...{ label: "wallets", ...terms, caps, limits },
    origins: ["wallets", "loopback"],
  });
  pageKey = ofPage.key;
  pageKeyId = ofPage.record.id;
  walletKey = ofWallets.key;
  await untilKnown(pageKey, PAGE);
  await untilKnown(walletKey, undefined);
});
afterAll(() => admin.close());

describe("a publishable key", () => {
  it("says what it is, and has caps for each sender and for all of them", async () => {
    expect(pageKey).toMatch(/^gwp_test_[0-9a-f]{16}_[0-9a-f]{48}$/);
    expect(await admin.show(pageKeyId)).toMatchObject({
      publishable: true,
      origins: [PAGE],
      caps: {
        transactions: 10_000,
        gas: "1000000000",
        senderTransactions: 100,
        senderGas: "10000000",
      },
    });
  });

  it("submits and checks for its pages, and reads a record by the transaction's hash", async () => {
    const fields = fieldsOf(pageKey, PAGE);
    const submitted = await shared().post(bodyOf(innerOf(1)), { headers: fields });
    expect([submitted.status, submitted.headers["access-control-allow-origin"]]).toEqual([200, PAGE]);
    const checked = await shared().call("POST", "/v1/check", bodyOf(innerOf(2)), fields);
    expect(JSON.parse(checked.text)).toMatchObject({ success: true });
    const record = JSON.parse((await get(`/v1/submissions/${hashOf(innerOf(1))}`, fields)).text);
    expect(record).toMatchObject({ id: JSON.parse(submitted.text).id, txHash: hashOf(innerOf(1)) });
  });

  it("reads no list, no record by its id, nothing of another key, and nothing of the service's state", async () => {
    const fields = fieldsOf(pageKey, PAGE);
    const [mine] = await shared().submit([innerOf(3)], { headers: fields });
    for (const path of [
      `/v1/submissions/${mine?.id}`,
      "/v1/submissions",
      `/v1/submissions?txHash=${hashOf(innerOf(3))}`,
      "/v1/ready",
      "/v1/openapi.json",
    ]) {
      const reply = await get(path, fields);
      expect([path, reply.status, errorOf(reply).reason]).toEqual([path, 403, "KEY_IS_PUBLISHABLE"]);
    }
    await shared().submit([innerOf(4)]);
    const ofOther = await get(`/v1/submissions/${hashOf(innerOf(4))}`, fields);
    expect([ofOther.status, errorOf(ofOther).reason]).toEqual([404, "NO_SUCH_SUBMISSION"]);
    // Whoever has the signed bytes may see what became of them (D18).
    await shared().submit([innerOf(4)], { headers: fields });
    expect((await get(`/v1/submissions/${hashOf(innerOf(4))}`, fields)).status).toBe(200);
  });

  it("shows its caps for each sender, and not what all senders have used", async () => {
    const { text } = await get("/v1/policy", fieldsOf(walletKey, undefined));
    expect(JSON.parse(text).caps).toEqual({
      ends: expect.any(String),
      senderTransactions: { limit: 100 },
      senderGas: { limit: "10000000" },
    });
  });

  it("lets a secret key read a record by its hash, too", async () => {
    const [line] = await shared().submit([innerOf(5)]);
    const { text } = await get(`/v1/submissions/${hashOf(innerOf(5))}`, {
      authorization: `Bearer ${API_KEY}`,
    });
    expect(JSON.parse(text).id).toBe(line?.id);
  });
});

describe("a publishable key of the configuration, as in development", () => {
  it.each(["the store", "the configuration"])("has the limits of one of the store: %s", async (place) => {
    const key = place === "the store" ? walletKey : "gwp_test_local";
    const post = (body: string) => shared().call("POST", "/v1/check", body, fieldsOf(key, undefined));
    expect(errorOf(await post(bodyOf(...Array(21).fill("0x"))))).toMatchObject({
      reason: "BATCH_TOO_LARGE",
      details: { maxBatchSize: 20 },
    });
    expect(errorOf(await post(bodyOf("0x".padEnd(1_048_576, "0"))))).toMatchObject({
      reason: "BODY_TOO_LARGE",
      details: { maxBodyBytes: 1_048_576 },
    });
  });
});

describe("the origins of a publishable key", () => {
  it.each([
    ["another site", "https://evil.example"],
    ["a sandboxed frame or a file", "null"],
    ["a site with the origin as its beginning", "https://app.example.com.evil.example"],
    ["a site with the origin as its end", "https://evil-app.example.com"],
    ["a subdomain", "https://x.app.example.com"],
    ["the parent domain", "https://example.com"],
    ["another port", "https://app.example.com:8443"],
    ["the default port, which browsers leave out", "https://app.example.com:443"],
    ["another scheme", "http://app.example.com"],
    ["other letters, which browsers never send", "https://APP.example.com"],
    ["a slash at the end", "https://app.example.com/"],
    ["the origin behind a user", "https://app.example.com@evil.example"],
    ["two origins", `${PAGE}, https://evil.example`],
    ["nothing", ""],
    ["a program without an origin, without `wallets`", undefined],
  ])("refuse %s", async (_, origin) => {
    const reply = await shared().post(bodyOf(innerOf(9)), { headers: fieldsOf(pageKey, origin) });
    expect([reply.status, errorOf(reply).reason]).toEqual([403, "ORIGIN_NOT_ALLOWED"]);
    expect(reply.text).not.toContain(pageKey);
    expect(reply.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("refuse an extension, without `wallets`", async () => {
    const origin = "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn";
    expect(errorOf(await get("/v1/policy", fieldsOf(pageKey, origin))).reason).toBe("ORIGIN_NOT_ALLOWED");
  });

  it.each([
    ["programs and native wallets", undefined, 200],
    ["extensions of Chrome", "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn", 200],
    ["extensions of Firefox", "moz-extension://0c1a7b1e-8f6c-4b63-b43f-1f7f3e7a1c55", 200],
    ["pages of the same machine, by `loopback`", "http://localhost:5173", 200],
    ["no other pages", "https://evil.example", 403],
    ["no page that looks like an extension", "https://chrome-extension.example", 403],
  ])("with `wallets` are for %s", async (_, origin, status) => {
    expect((await get("/v1/policy", fieldsOf(walletKey, origin))).status).toBe(status);
  });

  it("pass the preflights of their pages, and of no other", async () => {
    const preflight = (origin: string) =>
      shared().call("OPTIONS", "/v1/submit", undefined, { origin, "access-control-request-method": "POST" });
    const passed = await preflight(PAGE);
    expect([passed.status, passed.headers["access-control-allow-origin"]]).toEqual([204, PAGE]);
    expect((await preflight("https://evil.example")).status).toBe(405);
  });

  it.each([
    [{ origins: null }, "needs origins"],
    [{ origins: [] }, "not a list of 1 to 100"],
    [{ origins: ["https://app.example.com/path"] }, '"https://app.example.com/path"'],
    [{ allowedTargets: null }, "needs allowedTargets"],
    [{ caps: { senderGas: null } }, "needs the caps senderTransactions and senderGas"],
  ])("policy and caps of senders cannot be taken away: %j is refused", async (change, message) => {
    await expect(admin.update("tests", pageKeyId, change)).rejects.toThrow(message);
  });

  it("belong to publishable keys alone", async () => {
    const terms = { label: "secret", origins: [PAGE], allowedTargets: TARGETS };
    await expect(admin.create("tests", terms)).rejects.toThrow("origins are for publishable keys");
  });
});

describe("a WebSocket with a publishable key", () => {
  const open = (key: string, origin: string, address: string) =>
    new WebSocket(`${shared().url.replace("http", "ws")}/v1/submit`, [SOCKET_PROTOCOL, `bearer.${key}`], {
      headers: { origin, "x-forwarded-for": address },
    });

  it("takes it as a subprotocol, chooses the other one, and watches hashes and no id", async () => {
    const socket = open(pageKey, PAGE, "192.0.2.20");
    const client = new TestSocket(socket);
    await once(socket, "open");
    expect(socket.protocol).toBe("gas-waiver.v1");
    client.send({ id: 1, transactions: [innerOf(20)] });
    const [line] = await client.framesOfRequest();
    expect(line).toMatchObject({ success: true, txHash: hashOf(innerOf(20)) });
    const ofOther = hashOf(innerOf(21));
    await shared().submit([innerOf(21)]);
    client.send({ id: 2, watch: [line?.id, hashOf(innerOf(20)).toUpperCase().replace("X", "x"), ofOther] });
    const frames = (await client.framesOfRequest()).slice(0, -1);
    expect(frames.sort((a, b) => Number(a.index) - Number(b.index))).toMatchObject([
      { id: line?.id, error: { reason: "UNKNOWN_SUBMISSION" } },
      { id: line?.id, success: true, txHash: hashOf(innerOf(20)) },
      { id: ofOther, error: { reason: "UNKNOWN_SUBMISSION" } },
    ]);
    socket.close();
  });

  it.each([
    ["another origin", () => pageKey, "https://evil.example", 403],
    ["a secret key as a subprotocol", () => API_KEY, PAGE, 401],
  ])("is refused for %s", async (_, key, origin, status) => {
    const socket = open(key(), origin, "192.0.2.21");
    const [, response] = await once(socket, "unexpected-response");
    expect(response.statusCode).toBe(status);
    expect(response.headers["sec-websocket-protocol"]).toBeUndefined();
    socket.on("error", () => {}).terminate();
  });

  it("is closed when the key's origins change", async () => {
    const { key, record } = await admin.create("tests", {
      ...{ label: "moving", publishable: true, allowedTargets: TARGETS, origins: [PAGE] },
    });
    await untilKnown(key, PAGE);
    const socket = open(key, PAGE, "192.0.2.22");
    const client = new TestSocket(socket);
    await once(socket, "open");
    await admin.update("tests", record.id, { origins: ["https://other.example"] });
    expect(await client.closed).toBe(1008);
  });
});

describe("one address under a publishable key", () => {
  it("that sends or checks too fast is refused, and the others are not", async () => {
    const batch = bodyOf(...Array(20).fill("0x"));
    const send = (path: string, address: string) =>
      shared().call("POST", path, batch, fieldsOf(walletKey, undefined, address));
    for (const path of ["/v1/submit", "/v1/check"]) {
      expect((await send(path, "198.51.100.1")).status).toBe(200);
      const refused = await send(path, "198.51.100.1");
      expect([refused.status, errorOf(refused).reason]).toEqual([429, "RATE_EXCEEDED"]);
      expect(errorOf(refused).message).toContain("this address's rate of 1 transactions a second");
      expect((await send(path, "198.51.100.2")).status).toBe(200);
    }
    // All addresses that one client has in its network of IPv6 are one.
    expect((await send("/v1/submit", "2001:db8::1")).status).toBe(200);
    expect((await send("/v1/submit", "2001:db8::2")).status).toBe(429);
    // A site has 65,536 such networks, which share four times the rate of one.
    for (const network of [1, 2, 3]) {
      expect((await send("/v1/submit", `2001:db8:0:${network}::1`)).status).toBe(200);
    }
    expect((await send("/v1/submit", "2001:db8:0:4::1")).status).toBe(429);
    expect((await send("/v1/submit", "2001:db8:1::1")).status).toBe(200);
  });

  it("is one of its senders' addresses: a sender's caps hold over all addresses", async () => {
    const { key } = await admin.create("tests", {
      ...{ label: "capped", publishable: true, allowedTargets: TARGETS, origins: ["wallets"] },
      caps: { senderTransactions: 1 },
    });
    await untilKnown(key, undefined);
    const submitFrom = async (address: string, nonce: number) => {
      const [line] = await shared().submit([innerOf(30, nonce)], {
        headers: fieldsOf(key, undefined, address),
      });
      return line && outcomeOf(line);
    };
    expect(await submitFrom("203.0.113.1", 0)).toBe("success");
    expect(await submitFrom("203.0.113.2", 1)).toBe("RATE_LIMITED/CAP_EXCEEDED");
    const [capped] = await shared().submit([innerOf(30, 1)], {
      headers: fieldsOf(key, undefined, "203.0.113.3"),
    });
    // No amount of what is used, and so no `limit`, `used` or `asked`.
    const details = { ...(capped && "error" in capped && capped.error.details) };
    expect(Object.keys(details).sort()).toEqual(["cap", "ends", "retry"]);
  });

  it("uses up no cap with what waits for an earlier nonce", async () => {
    const { key, record } = await admin.create("tests", {
      ...{ label: "early", publishable: true, allowedTargets: TARGETS, origins: ["wallets"] },
      caps: { gas: "400000" },
    });
    await untilKnown(key, undefined);
    const submit = (transaction: string, address: string) =>
      shared().submit([transaction], { headers: fieldsOf(key, undefined, address) });
    // Each would take half of the day's gas, and nobody sends the nonces before.
    for (const [i, user] of [50, 51].entries()) {
      submit(innerOf(user, 1, { gasLimit: 200_000n }), `203.0.113.${user}`).catch(() => {});
      await shared().until("select from unfinished where key_id = $1 and is_waiting having count(*) > $2", [
        record.id,
        i,
      ]);
    }
    const honest = [60, 61, 62].map((user) => submit(innerOf(user), `198.51.100.${user}`));
    expect((await Promise.all(honest)).flat().map(outcomeOf)).toEqual(["success", "success", "success"]);
  });

  it("has idempotency keys of its own", async () => {
    const submit = (sender: number, address: string) =>
      shared().call("POST", "/v1/submit", bodyOf(innerOf(sender)), {
        ...fieldsOf(walletKey, undefined, address),
        "idempotency-key": "order-1",
      });
    expect((await submit(40, "203.0.113.40")).status).toBe(200);
    expect((await submit(41, "203.0.113.40")).status).toBe(422);
    expect((await submit(41, "203.0.113.41")).status).toBe(200);
  });

  it("is not told which submission has the nonce of its sender, and neither is another key", async () => {
    const service = await services.start({ publicApiKeys: ["gwp_test_conflict"] }, { automine: false });
    const [first] = await service.submit([innerOf(1)]);
    const rival = innerOf(1, 0, { gasLimit: 90_000n });
    for (const [key, isTold] of [
      [API_KEY, true],
      [OTHER_API_KEY, false],
      ["gwp_test_conflict", false],
    ] as const) {
      const [line] = await service.submit([rival], { headers: { authorization: `Bearer ${key}` } });
      expect(line && outcomeOf(line)).toBe("VALIDATION_FAILED/NONCE_CONFLICT");
      expect(JSON.stringify(line).includes(first?.id ?? "?")).toBe(isTold);
    }
  });
});
