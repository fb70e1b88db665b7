// `gas-waiver submit`, which is killed and started again.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { gasWaiver } from "./support/commandLine.js";
import { useDevService } from "./support/devService.js";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";
import { account, DEV_API_KEY, TOKEN, tokensOf, transferOf } from "./support/user.js";

// Five programs start one after the other.
vi.setConfig({ testTimeout: 300_000 });

const started = useDevService();
const folder = freshFolder();
const ALICE = account(2);
const RECIPIENT = "0x00000000000000000000000000000000000a11ce";
const COUNT = 400;

/** The programs that get only so many answers to their submits, by the path that each has in its URL. */
const ALLOWED_ANSWERS: Readonly<Record<string, number>> = { "/killed": 1, "/interrupted": 1 };
/** The answers that each has got. One that comes for an ended program counts for that program alone. */
const passed = new Map<string, number>();

/** Stands before the service, and keeps back answers, so that a program can be ended while the service knows more than it. */
const gate = createServer((request, response) => {
  // A killed program breaks its requests off.
  forward(request, response).catch(() => response.destroy());
});

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET", headers } = request;
  const [, program = "", path = ""] = /^(\/\w+)(\/v1\/.*)$/.exec(request.url ?? "") ?? [];
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const fields = { authorization: headers.authorization ?? "", "content-type": "application/json" };
  const body = method === "POST" && { body: Buffer.concat(chunks) };
  const answer = await fetch(`${started().url}${path}`, { method, headers: fields, ...body });
  const text = await answer.text();
  if (path.startsWith("/v1/submit") && answer.status === 200) {
    const count = (passed.get(program) ?? 0) + 1;
    if (count > (ALLOWED_ANSWERS[program] ?? count)) return;
    passed.set(program, count);
  }
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(text);
}

let gateUrl: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
  gateUrl = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`;
});
afterAll(() => {
  gate.closeAllConnections();
  gate.close();
});

const KEY = { GAS_WAIVER_API_KEY: DEV_API_KEY };
const submitOf = (program: string, file: string) => [
  "submit",
  "--transactions",
  file,
  "--url",
  `${gateUrl}${program}`,
];

/** Starts the command. @param program the path of its URL, by which the gate knows it. */
const submit = (program: string, file: string, ...flags: string[]) =>
  gasWaiver([...submitOf(program, file), ...flags], KEY);

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

    const killed = Program.gasWaiver(submitOf("/killed", file), KEY);
    await vi.waitFor(() => expect(outcomesIn(journal)).toBeGreaterThan(0), {
      timeout: 200_000,
      interval: 10,
    });
    expect(await killed.end("SIGKILL")).toMatchObject({ signal: "SIGKILL" });
    const atKill = outcomesIn(journal);
    expect(atKill).toBeLessThan(COUNT);

    const interrupted = submit("/interrupted", file);
    await vi.waitFor(() => expect(outcomesIn(journal)).toBeGreaterThan(atKill), {
      timeout: 200_000,
      interval: 10,
    });
    expect(await interrupted.end("SIGINT")).toMatchObject({ status: 1 });
    expect(interrupted.stderr).toMatch(/interrupted, \d+ of 400 have succeeded: the same command goes on/);
    expect(outcomesIn(journal)).toBeLessThan(COUNT);

    const last = submit("/last", file, "--wait", "included");
    expect(await last.ended).toMatchObject({ status: 0 });
    expect(last.stdout).toBe("400 of 400 transaction(s) have succeeded\n");
    // Those of the runs before may be in the node's pool only.
    await vi.waitFor(
      async () => expect(await chain.getTransactionCount(ALICE.address)).toBe(first + COUNT),
      200_000,
    );
    expect(await tokensOf(chain, RECIPIENT)).toBe(BigInt(COUNT));

    const again = submit("/again", file, "--json");
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
    const failed = submit("/other", file);
    expect(await failed.ended).toMatchObject({ status: 1 });
    expect(failed.stdout).toMatch(
      /^transaction 1: TARGET_NOT_ALLOWED: .*\n1 of 2 transaction\(s\) have succeeded\n$/,
    );
    expect(failed.stderr).toContain("1 of 2 transaction(s) failed");

    writeFileSync(file, good);
    const other = submit("/other", file);
    expect(await other.ended).toMatchObject({ status: 1 });
    expect(other.stderr).toMatch(/^gas-waiver: the journal is of 2 other transaction\(s\)/);

    writeFileSync(file, `${good}\n${TOKEN}!`);
    const wrong = submit("/other", file);
    expect(await wrong.ended).toMatchObject({ status: 2 });
    expect(wrong.stderr).toContain("has no transaction as 0x hex in line 2");
    const away = gasWaiver(["submit", "--transactions", file, "--url", "http://127.0.0.1:1"]);
    expect(await away.ended).toMatchObject({ status: 2 });
    expect(away.stderr).toContain("GAS_WAIVER_API_KEY");
  });
});
