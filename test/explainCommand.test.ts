// `gas-waiver explain` against a service and its chain, and the address that belongs to the other of the two.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createWaiverClient, MalformedAnswerError } from "@gas-waiver/client";
import { describe, expect, it } from "vitest";
import { run } from "../packages/cli/src/run.js";
import { useDevService } from "./support/devService.js";
import { freshFolder } from "./support/freshFolder.js";
import { account, DEV_API_KEY, TOKEN, token, transferData, transferOf } from "./support/user.js";

const started = useDevService();
const ALICE = account(2);
const BOB = account(3);
const RECIPIENT = account(4).address;

async function explain(subject: string, ...flags: string[]) {
  const { url, rpcUrl } = started();
  const out: string[] = [];
  const err: string[] = [];
  const status = await run(["explain", subject, "--url", url, "--rpc-url", rpcUrl, ...flags], {
    env: { GAS_WAIVER_API_KEY: DEV_API_KEY },
    signal: new AbortController().signal,
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
    write: async () => {},
  });
  return { status, out: out.join("\n"), err: err.join("\n") };
}

async function explained(subject: string) {
  const { status, out, err } = await explain(subject, "--json");
  expect({ status, err }).toEqual({ status: 0, err: "" });
  return JSON.parse(out);
}

const client = () => createWaiverClient({ url: started().url, apiKey: DEV_API_KEY });

async function idOf(signed: string): Promise<string> {
  for await (const line of client().submit([signed])) return line.id;
  throw new Error("there is no line");
}

describe("gas-waiver explain", () => {
  it("decodes the call by the ABI of the contract, whose file may be a compiler's output", async () => {
    const file = join(freshFolder(), "Token.json");
    writeFileSync(file, `{"abi": ${token.formatJson()}}`);
    const signed = await ALICE.signTransaction(transferOf(RECIPIENT, 7n, 0));
    const { out } = await explain(signed, "--abi", file);
    expect(out).toMatch(/decoded +transfer\(address,uint256\)\n +to: 0x\w{40}\n +amount: 7\n/);
    const { call } = JSON.parse((await explain(signed, "--abi", file, "--json")).out);
    expect(call.arguments).toContainEqual({ name: "amount", value: "7" });
    expect(await explain(signed, "--abi", join(file, "none"))).toMatchObject({ status: 2 });
  });

  it("tells of a transaction that reverted its cause, its trace and the remedy, by id, hash and bytes", async () => {
    const tooMuch = transferData(RECIPIENT, 10n ** 30n);
    const signed = await ALICE.signTransaction({ ...transferOf(RECIPIENT, 1n, 0), data: tooMuch });
    const id = await idOf(signed);
    await client()
      .wait(id, { until: "included" })
      .catch(() => {});
    const { txHash = "" } = await client().status(id);
    for (const subject of [id, txHash, signed]) {
      const { summary, next, transaction, service, node } = await explained(subject);
      expect(summary).toMatch(/^It is in block \d+, and reverted: /);
      expect(next).toContainEqual(expect.stringContaining("next nonce"));
      expect(transaction).toMatchObject({ hash: txHash, to: TOKEN.toLowerCase(), selector: "0xa9059cbb" });
      expect(service).toMatchObject({ record: { id, reverted: true }, policy: { verdict: "allowed" } });
      expect(service).not.toHaveProperty("check");
      expect(node).toMatchObject({
        place: "in a block",
        reverted: true,
        sender: { nextNonce: "1", balance: "0" },
        failure: { message: service.record.error.details.causeMessage },
        trace: { error: "execution reverted" },
        wrapper: { place: "in a block" },
      });
    }
    const { out } = await explain(id);
    expect(out).toMatch(/^It is in block .*\n {2}→ Decode the revert data with .*\n {2}→ Correct the call/);
    expect(out).toMatch(/ {2}revert data {3}0x[0-9a-f]{200}\n/);
    expect(out).toMatch(/ {2}trace\n {4}CALL 0x\w{40} 0xa9059cbb {2}✗ execution reverted/);
  });

  it("tells of a refused line by its id what was refused, and why", async () => {
    const foreign = await BOB.signTransaction({ ...transferOf(RECIPIENT, 1n, 0), to: RECIPIENT });
    const id = await idOf(foreign);
    const { summary, next, service } = await explained(id);
    expect(summary).toMatch(/^The service refused it, and accepted nothing: TARGET_NOT_ALLOWED: /);
    expect(next).toContain("Sending the same bytes again does not help.");
    expect(service.record).toMatchObject({ id, refused: true, sender: BOB.address.toLowerCase() });
    const { out } = await explain(id);
    expect(out).toMatch(/ {2}record {8}[0-9a-f-]{36}, refused, certainty not_broadcast\n {2}refused /);
    expect(out).toContain(`  sender        ${BOB.address.toLowerCase()}, nonce 0\n`);
    await expect(client().wait(id)).rejects.toMatchObject({ reason: "TARGET_NOT_ALLOWED", record: { id } });
  });

  it("tells of a submission that failed for a missing nonce whose it is, and which nonce comes next", async () => {
    const id = await idOf(await BOB.signTransaction(transferOf(RECIPIENT, 1n, 3)));
    await expect(client().wait(id)).rejects.toMatchObject({ reason: "NONCE_GAP" });
    const { next, node } = await explained(id);
    expect(node.sender).toEqual({ nextNonce: "0", balance: "0" });
    expect(next[0]).toBe("Send the sender's transaction with nonce 0, which the service does not have.");
    const { out } = await explain(id);
    expect(out).toContain(`  sender        ${BOB.address.toLowerCase()}, nonce 3\n`);
    expect(out).toContain(`  call          method 0xa9059cbb, to ${TOKEN.toLowerCase()}\n`);
  });

  it("makes a dry run of what was never submitted: the rule that refuses it, or the nonce that is missing", async () => {
    const foreign = await BOB.signTransaction({ ...transferOf(RECIPIENT, 1n, 0), to: RECIPIENT });
    const refused = await explained(foreign);
    expect(refused.summary).toContain("TARGET_NOT_ALLOWED");
    expect(refused.next).toContain("Sending the same bytes again does not help.");
    expect(refused.service.policy).toEqual({
      verdict: "target not allowed",
      allowedSelectors: [],
      waivers: [],
    });
    const good = await explained(await BOB.signTransaction(transferOf(RECIPIENT, 1n, 0)));
    expect(good).toMatchObject({
      summary: "The service does not have it, and would accept it.",
      next: ["Submit it."],
      service: { check: { success: true, simulation: { success: true } } },
    });
    const ahead = await explained(await BOB.signTransaction(transferOf(RECIPIENT, 1n, 1)));
    expect(ahead).toMatchObject({
      summary: expect.stringContaining("NONCE_GAP"),
      next: [expect.stringContaining("Send the missing transaction"), "Sending it again later may help."],
      service: { check: { error: { details: { missing: "0", missingHolder: "unknown" } } }, unfinished: [] },
    });
  });

  it("says to raise the gas limit where a dry run is short of gas, and not to correct the call", async () => {
    const short = await explained(
      await BOB.signTransaction({ ...transferOf(RECIPIENT, 1n, 0), gasLimit: 24_000n }),
    );
    expect(short.summary).toMatch(/the call would fail: .*out of gas/);
    expect(short.next).toEqual(["Raise the gas limit, then sign and submit it."]);
  });

  it("says where it knows nothing, and refuses a name that is none", async () => {
    const unknown = await explained(`0x${"12".repeat(32)}`);
    expect(unknown.summary).toBe("This key has no submission of it, and it is not known to the node.");
    const broken = await explained("0x1234");
    expect(broken.summary).toContain("It is not a transaction that anybody can read: ");
    expect(await explain("submission 7")).toMatchObject({
      status: 2,
      err: expect.stringContaining("neither an id of a submission, a hash, nor a signed transaction"),
    });
    expect(await explain("0x12", "0x34")).toMatchObject({ status: 2 });
  });
});

describe("the address of the node in place of the service's", () => {
  it("is named by each function of the SDK", async () => {
    const wrong = createWaiverClient({ url: started().rpcUrl, apiKey: DEV_API_KEY });
    const submit = async () => {
      for await (const line of wrong.submit(["0x12"])) return line;
      return undefined;
    };
    for (const call of [submit, () => wrong.check(["0x12"]), () => wrong.health(), () => wrong.policy()]) {
      const error = await Promise.resolve(call()).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(MalformedAnswerError);
      expect((error as Error).message).toContain("JSON-RPC node");
    }
  });
});

describe("the address of the service in a browser", () => {
  it("leads to the reference", async () => {
    const response = await fetch(started().url);
    expect([response.status, new URL(response.url).pathname]).toEqual([200, "/docs"]);
  });
});
