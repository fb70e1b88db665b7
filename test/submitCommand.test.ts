// `gas-waiver submit` as a process that is killed and started again.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { useDevService } from "./support/devService.js";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";
import { account, DEV_API_KEY, TOKEN, tokensOf, transferOf } from "./support/user.js";

const started = useDevService();
const folder = freshFolder();
const ALICE = account(2);
const RECIPIENT = "0x00000000000000000000000000000000000a11ce";
const COUNT = 400;

/** The submits whose answers have passed, and the number that may. The service gets all of them. */
const answers = { passed: 0, allowed: Number.POSITIVE_INFINITY };

/** Stands before the service, and keeps back answers, so that a program can be ended while the service knows more than it. */
const gate = createServer(async (request, response) => {
  const { method = "GET", url = "", headers } = request;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const fields = { authorization: headers.authorization ?? "", "content-type": "application/json" };
  const body = method === "POST" && { body: Buffer.concat(chunks) };
  const answer = await fetch(`${started().url}${url}`, { method, headers: fields, ...body });
  const text = await answer.text();
  const isSubmit = url.startsWith("/v1/submit") && answer.status === 200;
  if (isSubmit && ++answers.passed > answers.allowed) return;
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(text);
});
let gateUrl: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
  gateUrl = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`;
});
afterAll(() => {
  gate.closeAllConnections();
  gate.close();
});

const submit = (file: string, ...flags: string[]) =>
  Program.gasWaiver(["submit", "--transactions", file, "--url", gateUrl, ...flags], {
    GAS_WAIVER_API_KEY: DEV_API_KEY,
  });

/** Lets so many more answers of submits pass. */
function allowAnswers(count: number): void {
  answers.passed = 0;
  answers.allowed = count;
}

const outcomesIn = (journal: string) =>
  existsSync(journal) ? readFileSync(journal, "utf8").split('{"index"').length - 1 : 0;

describe("gas-waiver submit", () => {
  it("goes on after a kill and after Ctrl-C, and sends nothing twice and leaves nothing out", async () => {
    const { chain } = started();
    const first = await chain.getTransactionCount(ALICE.address);
    const signed = await Promise.all(
      Array.from({ length: COUNT }, (_, i) => ALICE.signTransaction(transferOf(RECIPIENT, 1n, first + i))),
    );
    const file = join(folder, "airdrop.txt");
    writeFileSync(file, `# an airdrop\n\n${signed.join("\n")}\n`);
    const journal = `${file}.journal`;

    allowAnswers(1);
    const killed = submit(file);
    await vi.waitFor(() => expect(outcomesIn(journal)).toBeGreaterThan(0), { timeout: 30_000, interval: 10 });
    expect(await killed.end("SIGKILL")).toMatchObject({ signal: "SIGKILL" });
    const atKill = outcomesIn(journal);
    expect(atKill).toBeLessThan(COUNT);

    allowAnswers(1);
    const interrupted = submit(file);
    await vi.waitFor(() => expect(outcomesIn(journal)).toBeGreaterThan(atKill), {
      timeout: 30_000,
      interval: 10,
    });
    expect(await interrupted.end("SIGINT")).toMatchObject({ status: 1 });
    expect(interrupted.stderr).toMatch(/interrupted, \d+ of 400 have succeeded: the same command goes on/);
    expect(outcomesIn(journal)).toBeLessThan(COUNT);

    allowAnswers(Number.POSITIVE_INFINITY);
    const last = submit(file, "--wait", "included");
    expect(await last.ended).toMatchObject({ status: 0 });
    expect(last.stdout).toBe("400 of 400 transaction(s) have succeeded\n");
    // Those of the runs before may be in the node's pool only.
    await vi.waitFor(
      async () => expect(await chain.getTransactionCount(ALICE.address)).toBe(first + COUNT),
      30_000,
    );
    expect(await tokensOf(chain, RECIPIENT)).toBe(BigInt(COUNT));

    const again = submit(file, "--json");
    expect(await again.ended).toMatchObject({ status: 0 });
    const lines = again.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ index, success }) => [index, success])).toEqual(signed.map((_, i) => [i, true]));
    expect(new Set(lines.map(({ id }) => id)).size).toBe(COUNT);
  });

  it("ends with 1 where a transaction fails, with 2 for wrong settings, and says why", async () => {
    const { chain } = started();
    const nonce = await chain.getTransactionCount(account(3).address);
    const good = await account(3).signTransaction(transferOf(RECIPIENT, 1n, nonce));
    const bad = await account(4).signTransaction({ ...transferOf(RECIPIENT, 1n, 0), to: RECIPIENT });
    const file = join(folder, "mixed.txt");
    writeFileSync(file, `${bad}\n${good}`);
    const failed = submit(file);
    expect(await failed.ended).toMatchObject({ status: 1 });
    expect(failed.stdout).toMatch(
      /^transaction 1: TARGET_NOT_ALLOWED: .*\n1 of 2 transaction\(s\) have succeeded\n$/,
    );
    expect(failed.stderr).toContain("1 of 2 transaction(s) failed");

    writeFileSync(file, good);
    const other = submit(file);
    expect(await other.ended).toMatchObject({ status: 1 });
    expect(other.stderr).toMatch(/^gas-waiver: the journal is of 2 other transaction\(s\)/);

    writeFileSync(file, `${good}\n${TOKEN}!`);
    const wrong = submit(file);
    expect(await wrong.ended).toMatchObject({ status: 2 });
    expect(wrong.stderr).toContain("has no transaction as 0x hex in line 2");
    const away = Program.gasWaiver(["submit", "--transactions", file, "--url", "http://127.0.0.1:1"]);
    expect(await away.ended).toMatchObject({ status: 2 });
    expect(away.stderr).toContain("GAS_WAIVER_API_KEY");
  });
});
