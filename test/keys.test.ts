// The commands `gas-waiver keys …` beside two replicas on one database.
import { once } from "node:events";
import { connect, createWaiverClient } from "@gas-waiver/client";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { useTestPostgres } from "../packages/server/test/support/testStore.js";
import { gasWaiver } from "./support/commandLine.js";
import { freshFolder } from "./support/freshFolder.js";
import { startService } from "./support/service.js";
import { submit } from "./support/submit.js";
import { account, TOKEN, transferOf } from "./support/user.js";

interface KeyJson {
  readonly id: string;
  readonly state: string;
  readonly label: string;
}

let devnet: Devnet;
const postgres = useTestPostgres();
const reached = useTestPostgres("tcp");
let databaseUrl: string;
let urls: string[];
let adminUrl: string;
const ADMIN_TOKEN = "a-token-of-the-tests-that-is-long-enough";
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  const { url: rpcUrl } = await devnet.listen({ port: 0 });
  databaseUrl = await postgres.createEmptyDatabase();
  // The replicas' configuration has no API keys. They start in turn, because the first creates the schema.
  const adminToken = `tests:${ADMIN_TOKEN}`;
  const flags = ["--admin-port", "0"];
  const firstReplica = startService({ rpcUrl, databaseUrl, apiKeys: "", adminToken, flags });
  const first = await firstReplica.ready();
  adminUrl = (await firstReplica.line(/^admin API at (\S+)/))[1] ?? "";
  const second = await startService({ rpcUrl, databaseUrl, apiKeys: "" }).ready();
  urls = [first.url, second.url];
});
afterAll(async () => {
  await devnet?.close();
});

/** Runs `gas-waiver keys …` to its end. */
const keys = (...args: string[]) => gasWaiver(["keys", ...args], { DATABASE_URL: databaseUrl }).result();

async function json<T>(...args: string[]): Promise<T> {
  const { status, out, err } = await keys(...args, "--json");
  expect({ status, err }).toEqual({ status: 0, err: "" });
  return JSON.parse(out);
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Resolves when the replica answers the key with this status. */
async function untilStatus(url: string, key: string, status: number): Promise<void> {
  while ((await fetch(`${url}/v1/ready`, { headers: bearer(key) })).status !== status);
}

const transfer = (user: number, nonce = 0) =>
  account(user).signTransaction(transferOf(account(7).address, 1n, nonce));

describe("gas-waiver keys, beside two replicas", () => {
  it("create prints a key once, and both replicas accept it", async () => {
    const { status, out } = await keys("create", "--label", "a shop", "--max-batch-size", "5");
    expect(status).toBe(0);
    const [key = "", note, ...lines] = out.trimEnd().split("\n");
    expect(key).toMatch(/^gw_test_[0-9a-f]{16}_[0-9a-f]{48}$/);
    expect(note).toBe("Keep it: it is not shown again.");
    const id = key.split("_")[2] ?? "";
    expect(lines).toEqual([
      `${id}  active, test: a shop`,
      expect.stringMatching(/^ {2}created \S+Z$/),
      "  limits: maxBatchSize 5",
      "  caps in a day: senderGas 50000000, senderTransactions 500",
    ]);
    for (const [user, url] of urls.entries()) {
      await untilStatus(url, key, 200);
      const [line] = await submit(url, [await transfer(user)], { headers: bearer(key) });
      expect(line).toMatchObject({ success: true });
    }
    const all = await keys("list");
    expect(all.out).toContain(`${id}  active, test: a shop\n`);
    expect(all.out).not.toContain(key.split("_")[3]);
  });

  it("create --publishable makes a key that the SDK uses in pages of its origins, over HTTP and a WebSocket", async () => {
    const page = "https://app.example.com";
    const scope = ["--origins", page, "--allowed-targets", `${TOKEN}:0xa9059cbb`];
    const { status, out } = await keys("create", "--label", "the app", "--publishable", ...scope);
    expect(status).toBe(0);
    const [apiKey = "", note, ...lines] = out.trimEnd().split("\n");
    expect(apiKey).toMatch(/^gwp_test_[0-9a-f]{16}_[0-9a-f]{48}$/);
    expect(note).toBe("Everybody may see it. Keep it all the same: it is not shown again.");
    expect(lines).toEqual([
      `${apiKey.split("_")[2]}  active, publishable, test: the app`,
      expect.stringMatching(/^ {2}created \S+Z$/),
      `  used from ${page}`,
      "  caps in a day: gas 1000000000, senderGas 10000000, transactions 10000, senderTransactions 100",
      `  may send only [{"address":"${TOKEN.toLowerCase()}","selectors":["0xa9059cbb"]}]`,
      `  RPC URL for wallets: /rpc/${apiKey} after the URL of the service or network`,
    ]);
    const [url = ""] = urls;
    const fetchFrom =
      (origin: string): typeof fetch =>
      (input, init) =>
        fetch(input, { ...init, headers: { ...init?.headers, origin } });
    const client = createWaiverClient({ url, apiKey, fetch: fetchFrom(page) });
    while (!(await client.policy().catch(() => undefined)));
    for await (const line of client.submit([await transfer(3)])) {
      if (!line.success) throw new Error(line.error.message);
      expect(await client.wait(line.txHash)).toMatchObject({
        id: line.id,
        state: "included",
        reverted: false,
      });
      await expect(client.status(line.id)).rejects.toMatchObject({
        status: 403,
        reason: "KEY_IS_PUBLISHABLE",
      });
    }
    class PageSocket extends WebSocket {
      constructor(address: string, protocols: string[]) {
        super(address, protocols, { origin: page });
      }
    }
    const socket = connect({ url, apiKey, WebSocket: PageSocket });
    for await (const line of socket.submit([await transfer(3, 1)]))
      expect(line).toMatchObject({ success: true });
    socket.close();
    const elsewhere = createWaiverClient({ url, apiKey, fetch: fetchFrom(`${page}.evil.example`) });
    await expect(elsewhere.policy()).rejects.toMatchObject({ status: 403, reason: "ORIGIN_NOT_ALLOWED" });
    await expect(client.listPage()).rejects.toMatchObject({ status: 403, reason: "KEY_IS_PUBLISHABLE" });
  });

  it("revoke closes open WebSockets of both replicas within 5 s", async () => {
    const { key, record } = await json<{ key: string; record: KeyJson }>("create", "--label", "leaked");
    const closings = await Promise.all(
      urls.map(async (url) => {
        await untilStatus(url, key, 200);
        const socket = new WebSocket(`${url.replace("http", "ws")}/v1/submit`, { headers: bearer(key) });
        await once(socket, "open");
        return { closing: once(socket, "close") };
      }),
    );
    expect(await json<KeyJson>("revoke", "--key", record.id)).toMatchObject({ state: "revoked" });
    const since = performance.now();
    const codes = (await Promise.all(closings.map(({ closing }) => closing))).map(([code]) => code);
    expect(codes).toEqual([1008, 1008]);
    // It takes 1 s on an idle machine.
    expect(performance.now() - since).toBeLessThan(5_000);
    for (const url of urls) {
      const answer = await fetch(`${url}/v1/ready`, { headers: bearer(key) });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ error: { reason: "KEY_REVOKED" } });
    }
  });

  it("update, rotate, disable, enable and audit work, with output for people and for programs", async () => {
    const { key, record } = await json<{ key: string; record: KeyJson }>("create", "--label", "k");
    const ofKey = ["--key", record.id];
    expect(await json("update", ...ofKey, "--label", "renamed", "--daily-gas", "9000000")).toMatchObject({
      label: "renamed",
      caps: { gas: "9000000" },
    });
    expect(await json<KeyJson>("disable", ...ofKey)).toMatchObject({ state: "disabled" });
    expect((await keys("show", ...ofKey)).out).toMatch(
      new RegExp(`^${record.id}  disabled, test: renamed\n`),
    );
    expect(await json<KeyJson>("enable", ...ofKey)).toMatchObject({ state: "active" });
    const rotated = await json<{ key: string }>("rotate", ...ofKey, "--overlap", "0");
    const [url = ""] = urls;
    await untilStatus(url, rotated.key, 200);
    await untilStatus(url, key, 401);
    const audit = await keys("audit", ...ofKey);
    expect(
      audit.out.match(/(create|update|disable|enable|rotate) [0-9a-f]{16} by command line, \S+@\S+/g),
    ).toHaveLength(5);
    expect(audit.out).toContain('  label: "k" → "renamed"\n');
    for (const secret of [key, rotated.key]) expect(audit.out).not.toContain(secret.slice(-48));
  });

  it("audit shows changes by the admin API, with the name of its token", async () => {
    const created = await fetch(adminUrl, {
      method: "POST",
      headers: { ...bearer(ADMIN_TOKEN), "content-type": "application/json" },
      body: JSON.stringify({ label: "by a program" }),
    });
    const { key, record } = (await created.json()) as { key: string; record: KeyJson };
    for (const url of urls) await untilStatus(url, key, 200);
    const audit = await keys("audit", "--key", record.id);
    expect(audit.out).toContain(`create ${record.id} by admin token tests (`);
    expect((await fetch(adminUrl)).status).toBe(401);
  });

  it("explain errors in one sentence, and never print a secret", async () => {
    const unknown = await keys("show", "--key", "0".repeat(16));
    expect(unknown).toEqual({
      status: 1,
      out: "",
      err: `gas-waiver: the database has no key with the id ${"0".repeat(16)}; a key of --api-keys-file is a line of that file alone: change it there, and send SIGHUP\n`,
    });
    const pastedKey = await keys("revoke", "--key", `gw_live_${"0".repeat(16)}_${"5ec2e7".repeat(8)}`);
    expect(pastedKey.status).toBe(2);
    expect(pastedKey.err).not.toContain("5ec2e7");
    const past = await keys("create", "--label", "k", "--expires", "2001-01-01T00:00:00Z");
    expect(past.status).toBe(1);
    expect(past.err).toContain("not a time in the future");
    const withoutService = gasWaiver(["keys", "list", "--data-dir", freshFolder()]);
    expect(await withoutService.ended).toMatchObject({ status: 1 });
    expect(withoutService.stderr).toMatch(/^gas-waiver: no service runs on the data folder [^\n]+\n$/);
  });
});

describe("gas-waiver audit", () => {
  it("follows the audit as JSON lines, new entries too, and goes on after an id", async () => {
    const program = gasWaiver(["audit", "--follow", "--after", "0", "--json"], {
      DATABASE_URL: databaseUrl,
    });
    const [first] = await program.line(/^\{.*"action":"read-secrets".*/);
    const { record } = await json<{ record: { id: string } }>("create", "--label", "followed");
    const [line] = await program.line(new RegExp(`^\\{.*"keyId":"${record.id}".*`));
    expect(await program.end()).toEqual({ status: 0, signal: null });
    const entry = JSON.parse(line);
    expect(entry).toMatchObject({ action: "create", actor: expect.stringMatching(/^command line, /) });
    expect(Number(entry.id)).toBeGreaterThan(Number(JSON.parse(first).id));
    const before = String(Number(entry.id) - 1);
    const again = gasWaiver(["audit", "--follow", "--after", before, "--json"], {
      DATABASE_URL: databaseUrl,
    });
    expect(JSON.parse((await again.line(/^\{.*/))[0])).toEqual(entry);
    await again.end();
  });

  it("says in a sentence that the store has gone away, and what to see to", async () => {
    const env = { DATABASE_URL: await reached.createDatabase() };
    await gasWaiver(["keys", "create", "--label", "k", "--env", "test"], env).result();
    const program = gasWaiver(["audit", "--follow", "--after", "0", "--json"], env);
    await program.line(/^\{.*/);
    await reached.halt();
    expect(await program.ended).toMatchObject({ status: 1 });
    expect(program.stderr).toMatch(/^gas-waiver: the store [^\n]+; see whether PostgreSQL runs [^\n]+\n$/);
    reached.resume();
  });
});
