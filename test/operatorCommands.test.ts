// `gas-waiver check`, `status`, `why`, `stuck` and `wrap`, against a chain with its service.
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { REASON_NOTES } from "@gas-waiver/protocol/description";
import { describe, expect, it, vi } from "vitest";
import { run } from "../packages/cli/src/run.js";
import { makeCertificate } from "../packages/server/test/support/certificate.js";
import { setLaneState } from "../packages/server/test/support/laneStates.js";
import { ADMIN_TOKEN, useDevService } from "./support/devService.js";
import { freshFolder } from "./support/freshFolder.js";
import { post, submit } from "./support/submit.js";
import { account, DEV_API_KEY, TOKEN, transferOf } from "./support/user.js";

vi.setConfig({ testTimeout: 120_000 });

const started = useDevService();
const folder = freshFolder();
const RECIPIENT = account(7).address;

/** Runs a command to its end. */
async function gasWaiver(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  columns?: number,
) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await run(argv, {
    env,
    signal: new AbortController().signal,
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
    write: async () => {},
    ...(columns !== undefined && { terminal: { columns, hasColors: false } }),
  });
  return { status, out, err: err.join("\n") };
}

const withKey = { GAS_WAIVER_API_KEY: DEV_API_KEY };

/** Signs a transfer of an account that nothing else uses. */
async function signed(user: number, ahead = 0, amount = 1n): Promise<string> {
  const nonce = await started().chain.getTransactionCount(account(user).address);
  return await account(user).signTransaction(transferOf(RECIPIENT, amount, nonce + ahead));
}

describe("gas-waiver check", () => {
  it("says the same with a service and without one: taken, a gap, a target that no waiver carries", async () => {
    const { url, rpcUrl } = started();
    const forbidden = await account(3).signTransaction({ ...transferOf(RECIPIENT, 1n, 0), to: RECIPIENT });
    const transactions = [await signed(3), await signed(3, 5), forbidden];
    const asked = await gasWaiver(["check", "--url", url, "--json", ...transactions], withKey);
    const alone = await gasWaiver(["check", "--rpc-url", rpcUrl, "--json", ...transactions]);
    expect([asked.status, alone.status]).toEqual([1, 1]);
    const [ofService, own] = [asked, alone].map(({ out }) => out.map((line) => JSON.parse(line)));
    expect(own?.[0]).toEqual(ofService?.[0]);
    expect(own?.map(({ error }) => error?.reason)).toEqual([undefined, "NONCE_GAP", "TARGET_NOT_ALLOWED"]);
    expect(ofService?.map(({ error }) => error?.reason)).toEqual(own?.map(({ error }) => error?.reason));
    expect(alone.err).toBe("gas-waiver: 2 of 3 transaction(s) would be refused");
  });

  it("asks in several requests for more than one takes, and keeps a sender's transactions together", async () => {
    const [first, later, other] = [await signed(3), await signed(3, 1), await signed(4)];
    const unreadable = Array<string>(99).fill("0x01");
    const given = [first, ...unreadable, other, later];
    const { out } = await gasWaiver(["check", "--url", started().url, "--json", ...given], withKey);
    const lines = out.map((line) => JSON.parse(line));
    expect(lines.map(({ index }) => index)).toEqual([...given.keys()]);
    expect([0, 1, 100, 101].map((i) => lines[i].success)).toEqual([true, false, true, true]);
  });

  it("simulates, reads a file, and fits the terminal", async () => {
    const file = join(folder, "transactions");
    writeFileSync(file, `${await signed(3)}\n${await signed(3, 1, 10n ** 30n)} # more than anybody owns\n`);
    const flags = ["check", "--rpc-url", started().rpcUrl, "--simulate", "--transactions", file];
    const { status, out } = await gasWaiver(flags, {}, 60);
    expect(status).toBe(0);
    expect(out.filter((line) => line.length > 60)).toEqual([]);
    expect(out.join("\n")).toMatch(/1 +0x\w+…\w+ +taken +the call succeeds\n *2 +\S+ +taken, reverts/);
    expect(out.at(-1)).toBe("2 of 2 transaction(s) would be taken");
  });

  it("checks the rules without a network, and asks for what it lacks", async () => {
    const raw = await signed(3);
    expect(await gasWaiver(["check", "--chain-id", "2201", raw])).toMatchObject({ status: 0, err: "" });
    const wrongChain = await gasWaiver(["check", "--chain-id", "988", raw]);
    expect(wrongChain.status).toBe(1);
    expect(wrongChain.out[1]).toContain("WRONG_CHAIN_ID");
    expect((await gasWaiver(["check", raw])).err).toContain("give --url, --rpc-url or --chain-id");
    expect((await gasWaiver(["check", "--url", started().url, raw])).err).toContain("API key is missing");
    expect((await gasWaiver(["check", "--chain-id", "1", "0x1"])).err).toContain("no transaction as 0x hex");
    const many = ["check", "--url", started().url, ...Array<string>(101).fill(raw)];
    expect((await gasWaiver(many, withKey)).err).toMatch(/at most 100 .*; check fewer, or give --rpc-url/);
  });
});

describe("gas-waiver status", () => {
  it("shows the record of a submission, whose failure is a status of 1", async () => {
    const { url } = started();
    const [line] = await submit(url, [await signed(4)], { query: "?wait=included", key: DEV_API_KEY });
    const flags = ["status", "--url", url, line?.id ?? ""];
    const shown = await gasWaiver(flags, withKey);
    expect(shown).toMatchObject({ status: 0, err: "" });
    expect(shown.out.join("\n")).toMatch(/\nstate +included\n/);
    const byHash = await gasWaiver(["status", "--url", url, "--json", line?.txHash ?? ""], withKey);
    expect(JSON.parse(byHash.out[0] ?? "")).toMatchObject({ id: line?.id, state: "included" });
    const unknown = await gasWaiver(["status", "--url", url, `0x${"1".repeat(64)}`], withKey);
    expect(unknown).toMatchObject({ status: 1, out: [] });
    expect((await gasWaiver(flags)).err).toContain("a record needs an API key");
  });

  it("shows service, readiness, queue, lanes, waivers and node heads in one table that fits", async () => {
    const { url, rpcUrl, databaseUrl } = started();
    const flags = ["status", "--url", url, "--rpc-url", rpcUrl];
    const env = { ...withKey, DATABASE_URL: databaseUrl };
    const table = () => gasWaiver(flags, env, 80);
    let shown = await table();
    // A loaded machine renews the lane's lease late now and then, and the waiver gets no work for that moment.
    while (!/^waiver 0x\S+ +usable/m.test(shown.out.join("\n"))) shown = await table();
    const { status, out, err } = shown;
    expect({ status, err }).toEqual({ status: 0, err: "" });
    expect(out.filter((line) => line.length > 80)).toEqual([]);
    const text = out.join("\n");
    for (const row of [/^service +serves/m, /^readiness +ready/m, /^ {2}store +ok/m, /^queue +\d+ queued/m])
      expect(text).toMatch(row);
    expect(text).toMatch(/^lane 0x\S+ +open +worked by/m);
    expect(text).toMatch(/^waiver 0x\S+ +usable +\d+ target/m);
    expect(text).toMatch(/^node http:\S+ +answers +block \d+/m);
    const json = JSON.parse((await gasWaiver([...flags, "--json"], env)).out[0] ?? "");
    expect(json).toMatchObject({ well: true, health: { value: { chainId: 2201 } } });
    expect(json.lanes.value[0]).toMatchObject({ state: "open" });
  });

  it("asks the service of the configuration file that it is given", async () => {
    const { port, origin } = new URL(started().url);
    const config = join(folder, "status.yaml");
    writeFileSync(config, JSON.stringify({ host: "0.0.0.0", port: Number(port) }));
    expect((await gasWaiver(["status", "--config", config])).out.join("\n")).toMatch(
      new RegExp(`^service +serves +${origin},`, "m"),
    );
    writeFileSync(config, JSON.stringify({ host: "::1", port: 1, "tls-cert": "none", "tls-key": "none" }));
    expect((await gasWaiver(["status", "--config", config])).out[1]).toContain("https://[::1]:1");
  });

  it("says what does not answer, and what was not asked", async () => {
    const { out, status } = await gasWaiver(["status", "--url", "http://127.0.0.1:1"]);
    expect(status).toBe(1);
    expect(out[1]).toMatch(/^service +no answer +.*127\.0\.0\.1:1/);
    expect(out.at(-1)).toBe("heads of nodes: give --rpc-url");
  });
});

describe("gas-waiver why and gas-waiver stuck", () => {
  const byDatabase = (...argv: string[]) => gasWaiver(argv, { DATABASE_URL: started().databaseUrl });
  const byService = (...argv: string[]) =>
    gasWaiver([...argv, "--admin-url", started().adminUrl], { GAS_WAIVER_ADMIN_TOKEN: ADMIN_TOKEN });
  const included = async (raw: string) => {
    const request = { query: "?wait=included", key: DEV_API_KEY };
    const [line] = await submit(started().url, [raw], request);
    return { id: line?.id ?? "", txHash: line?.txHash ?? "" };
  };

  it("find a submission by its id, hash, wrapper and sender, in a running service and in its database alike", async () => {
    const { rpcUrl } = started();
    const { id, txHash } = await included(await signed(7));
    const final = async () => (await byDatabase("why", id)).out.join("\n");
    await expect.poll(final, { timeout: 60_000 }).toContain("which is final, and worked");
    const told = JSON.parse((await byDatabase("why", id, "--json")).out[0] ?? "");
    const wrapper: string = told[0].record.wrapperHash;
    const expected = expect.stringMatching(
      new RegExp(`^${id} {2}included, accepted \\d+ s ago by key \\w+$`),
    );
    for (const name of [id.toUpperCase(), txHash, wrapper, account(7).address]) {
      for (const found of [
        await byService("why", name),
        await byDatabase("why", name, "--rpc-url", rpcUrl),
      ]) {
        expect(found, name).toMatchObject({ status: 0, err: "" });
        expect(found.out, name).toEqual([
          expected,
          expect.stringMatching(/^ {2}why: it is in block \d+, which is final, and worked$/),
          "  next: Nothing.",
          `  transaction ${txHash}, of ${account(7).address.toLowerCase()} with nonce 0`,
          `  wrapper ${wrapper}, nonce ${told[0].record.waiverNonce}`,
          expect.stringMatching(/^ {2}lane 0x[0-9a-f]{40}, worked by [0-9a-f-]{36}$/),
        ]);
      }
    }
    // The database keeps no hash of a final wrapper, only its nonce.
    const withoutNode = await byDatabase("why", wrapper);
    expect(withoutNode).toMatchObject({
      status: 1,
      out: [],
      err: expect.stringContaining("--rpc-url finds"),
    });
  });

  it("take the service's own file, of whose nodes one may be away", async () => {
    const { rpcUrl, databaseUrl } = started();
    const { id } = await included(await signed(8));
    const config = join(folder, "gas-waiver.yaml");
    const settings = {
      "chain-id": 2201,
      "rpc-url": ["http://127.0.0.1:1", rpcUrl],
      "database-url": databaseUrl,
    };
    writeFileSync(config, JSON.stringify(settings), { mode: 0o600 });
    const found = await gasWaiver(["why", id, "--config", config]);
    expect(found).toMatchObject({ status: 0, err: "" });
    expect((await gasWaiver(["lanes", "doctor", "--config", config])).out.join("\n")).toContain(
      "store and chain agree",
    );
  });

  it("tell of a failure what the sender does next", async () => {
    const { id } = await included(await signed(9, 5));
    const { out } = await byDatabase("why", id);
    expect(out[1]).toMatch(/^ {2}why: it failed: NONCE_GAP: nonce 5 is ahead of the sender's next, 0, /);
    expect(out[2]).toBe(`  next: ${REASON_NOTES.NONCE_GAP.remedy}`);
  });

  it("say what to type where the admin API has a certificate of its own", async () => {
    const server = createServer(makeCertificate());
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const argv = ["why", TOKEN, "--admin-url", `https://${place}`];
    const { status, err } = await gasWaiver(argv, { GAS_WAIVER_ADMIN_TOKEN: ADMIN_TOKEN });
    server.close();
    expect([status, err]).toEqual([
      1,
      `gas-waiver: the admin API at ${place} cannot be reached: DEPTH_ZERO_SELF_SIGNED_CERT: this machine does not trust its certificate; if you do, name its file with NODE_EXTRA_CA_CERTS=FILE`,
    ]);
  });

  it("say what is wrong with the name, the token or the place", async () => {
    const nothing = `0x${"1".repeat(64)}`;
    for (const { status, out, err } of [await byService("why", nothing), await byDatabase("why", TOKEN)])
      expect([status, out, err]).toEqual([
        1,
        [],
        expect.stringContaining("has no submission by the name 0x"),
      ]);
    expect((await byDatabase("why", "shop")).err).toContain("neither the id of a submission, a hash, nor");
    const withoutToken = ["stuck", "--admin-url", started().adminUrl];
    expect((await gasWaiver(withoutToken)).err).toContain("--admin-url needs a token");
    const wrong = await gasWaiver(withoutToken, { GAS_WAIVER_ADMIN_TOKEN: `${ADMIN_TOKEN}-of-nobody` });
    expect(wrong).toMatchObject({ status: 1, err: expect.stringContaining("the admin API answered 401: ") });
  });

  it("list what no block has, with its cause and the next step, until the cause is removed", async () => {
    const flags = ["stuck", "--older-than", "0", "--limit", "1"];
    const stuck = async () => [await byService(...flags), await byDatabase(...flags)];
    for (const { out } of await stuck()) expect(out).toEqual(["nothing is stuck"]);
    const { out: lanes } = await byDatabase("lanes", "list", "--json");
    const [{ waiver }] = JSON.parse(lanes[0] ?? "");
    expect(await setLaneState(started(), waiver, "stopped")).toBe(true);
    const answer = post(started().url, [await signed(7), await signed(7, 1)], {
      key: DEV_API_KEY,
      query: "?wait=included",
    });
    const cause = ["its lane has stopped: by a test", "Remove the cause, then run `gas-waiver lanes open`."];
    const listed = async () => (await stuck()).map(({ out }) => out.slice(0, 6));
    await expect
      .poll(listed, { timeout: 60_000 })
      .toEqual(
        [0, 1].map(() => [
          `2 × ${cause[0]}`,
          `  next: ${cause[1]}`,
          "the oldest 1 of 2:",
          expect.stringMatching(/^[0-9a-f-]{36} {2}(queued|signed), accepted \d+ s ago by key \w+$/),
          `  why: ${cause[0]}`,
          `  next: ${cause[1]}`,
        ]),
      );
    const [bySender] = JSON.parse((await byService("why", account(7).address, "--json")).out[0] ?? "");
    expect(bySender).toMatchObject({ why: cause[0], next: cause[1], lane: waiver, record: { nonce: "2" } });
    expect((await byService("stuck", "--older-than", "1d")).out).toEqual(["nothing is stuck"]);
    expect(await byDatabase("lanes", "open", "--waiver", waiver)).toMatchObject({ status: 0 });
    const workedOff = async () => (await byService("why", account(7).address)).out[1];
    await expect
      .poll(workedOff, { timeout: 60_000 })
      .toMatch(/^ {2}why: it is in block \d+, which is .*final, and worked$/);
    for (const { out } of await stuck()) expect(out).toEqual(["nothing is stuck"]);
    // The line may have ended with TIMEOUT before.
    await (await answer).body?.cancel();
  });
});

describe("gas-waiver wrap", () => {
  it("wraps with a waiver's key, sends, and waits for the block, or only prints", async () => {
    const { rpcUrl, chain } = started();
    const keyFile = join(folder, "waiver.key");
    writeFileSync(keyFile, account(11).privateKey, { mode: 0o600 });
    const custody = ["--waiver-key-file", keyFile];
    const raw = await signed(5);
    const offline = ["--print", "--nonce", "0", "--chain-id", "2201"];
    const printed = await gasWaiver(["wrap", ...custody, ...offline, raw]);
    expect(printed).toMatchObject({ status: 0, err: "" });
    expect(printed.out[0]).toMatch(/^0x[0-9a-f]{200,}$/);
    expect(await chain.getTransactionCount(account(5).address)).toBe(0);

    const both = [raw, await signed(5, 1)];
    const sent = await gasWaiver([
      "wrap",
      ...custody,
      "--rpc-url",
      rpcUrl,
      "--wait",
      "included",
      "--json",
      ...both,
    ]);
    expect(sent, sent.err).toMatchObject({ status: 0 });
    expect(sent.out.map((line) => JSON.parse(line))).toMatchObject(
      both.map(() => ({ sent: true, reverted: false })),
    );
    expect(await chain.getTransactionCount(account(5).address)).toBe(2);
  });

  it("sends nothing where one transaction breaks a rule, and says which", async () => {
    const { rpcUrl, chain } = started();
    const priced = await account(6).signTransaction({ ...transferOf(TOKEN, 1n, 1), gasPrice: 1 });
    const custody = { GAS_WAIVER_KEYS: account(11).privateKey };
    const before = await chain.getTransactionCount(account(11).address);
    const { status, err } = await gasWaiver(["wrap", "--rpc-url", rpcUrl, await signed(6), priced], custody);
    expect(status).toBe(1);
    expect(err).toMatch(/^gas-waiver: transaction 2: NON_ZERO_GAS_PRICE: .*; nothing was sent$/);
    expect(await chain.getTransactionCount(account(11).address)).toBe(before);
    const other = await gasWaiver(["wrap", "--waiver", TOKEN, "--rpc-url", rpcUrl, await signed(6)], custody);
    expect(other.err).toContain(`the custody has no key of ${TOKEN}`);
  });
});
