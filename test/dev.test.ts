// The promise of the documents: one command, then ethers and fetch alone.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonRpcProvider } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gasWaiver } from "./support/commandLine.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";
import { Program, root } from "./support/program.js";
import { submit } from "./support/submit.js";
import { account, connect, DEV_API_KEY, MARKER, TOKEN, token, tokensOf, transferOf } from "./support/user.js";

const gettingStarted = readFileSync(join(root, "docs", "getting-started.md"), "utf8");
const DEFAULT_URL = "http://127.0.0.1:8080";
const DEFAULT_RPC_URL = "http://127.0.0.1:8545";

let program: Program;
let url: string;
let rpcUrl: string;
let chain: JsonRpcProvider;
beforeAll(async () => {
  const ports = ["--port", "0", "--rpc-port", "0", "--block-time", "100"];
  program = Program.gasWaiver(["dev", ...ports, "--data-dir", freshFolder()]);
  ({ url, rpcUrl } = await program.ready());
  chain = connect(rpcUrl);
});
afterAll(async () => {
  chain?.destroy();
  await program?.end();
});

describe("gas-waiver dev", () => {
  it("prints the steps of a gasless transfer before it is ready", async () => {
    const [story = ""] = program.stdout.split("\naccounts, ");
    const hashes = [...new Set(story.match(/0x[0-9a-f]{64}\b/g))];
    expect(hashes).toHaveLength(2);
    const receipts = await Promise.all(hashes.map((hash) => chain.getTransactionReceipt(hash)));
    const [wrapper, inner] = receipts;
    expect(wrapper?.to?.toLowerCase()).toBe(MARKER);
    expect(inner).toMatchObject({ to: TOKEN, from: account(0).address, status: 1 });
    expect(story.match(/gas price paid 0\n/g)).toHaveLength(2);
    expect(story).toMatch(/user's native\s+0 wei\s+0 wei\n/);
    expect(story).toMatch(/user's USDT0\s+1,000,000\s+999,975\n/);
    expect(story).toMatch(/recipient's USDT0\s+1,000,000\s+1,000,025\n/);
    expect(program.stdout.match(/^ready.*$/gm)).toHaveLength(1);
    // A busy machine may keep the store waiting, which the service logs.
    expect(program.stderr.replaceAll(/^\{.*"trouble":"busy".*\n/gm, "")).toBe("");
  });

  it("prints the accounts with their keys and what they hold, the token, and three next steps; `accounts` does again", async () => {
    const { address, privateKey } = account(1);
    const line = `   1  ${address}  ${privateKey}  user: 1,000,025 USDT0, 0 native\n`;
    expect(program.stdout).toContain(line);
    expect(program.stdout).toContain(`token    ${TOKEN}  USDT0`);
    expect(program.stdout.match(/^ {2}[123]\. /gm)).toHaveLength(3);
    const [, command = ""] = program.stdout.match(/3\. .*npx gas-waiver (accounts .*)$/m) ?? [];
    const again = gasWaiver([...command.split(" "), "--json"]);
    expect(await again.ended, again.stderr).toEqual({ status: 0, signal: null });
    expect(JSON.parse(again.stdout)).toContainEqual({
      ...{ index: 13, address: account(13).address, privateKey: account(13).privateKey, role: "funded" },
      ...{ native: String(10_000n * 10n ** 18n), tokens: "0" },
    });
  });

  it("prints one line of JSON for scripts, with the limits of the service as they are asked for", async () => {
    const flags = ["--json", "--no-demo", "--max-batch-size", "1", "--port", "0", "--rpc-port", "0"];
    const script = gasWaiver(["dev", ...flags, "--data-dir", await dataFolder()]);
    await expect.poll(() => script.stdout, { timeout: 200_000 }).toContain("\n");
    const { url: service, rpcUrl: node, apiKey, accounts } = JSON.parse(script.stdout);
    expect(accounts).toHaveLength(18);
    expect(await connect(node).getBlockNumber()).toBeGreaterThanOrEqual(0);
    await expect(submit(service, ["0x", "0x"], { key: apiKey })).rejects.toThrow("BATCH_SIZE_EXCEEDED");
    expect(await script.end()).toMatchObject({ status: 0 });
    expect(script.stdout.trim().split("\n")).toHaveLength(1);
  });

  it("answers the health route without a key", async () => {
    const response = await fetch(`${url}/v1/health`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: "ok", chainId: 2201 });
  });

  it("includes the transfer of a user without native balance, from the user, at gas price 0", async () => {
    const user = account(3);
    const recipient = account(4).address;
    const before = await tokensOf(chain, recipient);
    expect(await chain.getBalance(user.address)).toBe(0n);
    const signed = await user.signTransaction(transferOf(recipient, 7n, 0));

    const [line, ...others] = await submit(url, [signed], { query: "?wait=included", key: DEV_API_KEY });
    expect(others).toEqual([]);
    expect(line).toEqual({
      index: 0,
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      success: true,
      txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    const receipt = await chain.getTransactionReceipt(line?.txHash ?? "");
    expect(receipt).toMatchObject({ from: user.address, to: TOKEN, status: 1, gasPrice: 0n });
    expect(receipt?.logs.map((log) => token.parseLog(log)?.args.toArray())).toEqual([
      [user.address, recipient, 7n],
    ]);
    const logs = await chain.getLogs({ address: TOKEN, fromBlock: receipt?.blockNumber ?? 0 });
    expect(logs.filter(({ transactionHash }) => transactionHash === line?.txHash)).toHaveLength(1);
    expect(logs.filter(({ blockNumber }) => blockNumber === receipt?.blockNumber)).toHaveLength(1);
    expect(await tokensOf(chain, recipient)).toBe(before + 7n);
    expect(await chain.getTransactionCount(user.address)).toBe(1);
  });

  it("has a chain that refuses such a transaction without the service", async () => {
    const signed = await account(5).signTransaction(transferOf(account(4).address, 7n, 0));
    await expect(chain.broadcastTransaction(signed)).rejects.toThrow(/price/i);
    expect(await chain.getTransactionCount(account(5).address)).toBe(0);
  });

  it("runs the first program of the documents, with the addresses of this service", async () => {
    const [, script = ""] = gettingStarted.match(/```js run\n(.*?)```/s) ?? [];
    const program = script.replace(DEFAULT_URL, url).replace(DEFAULT_RPC_URL, rpcUrl);
    const example = new Program(["--input-type=module", "-e", program]);
    expect(await example.ended, example.stderr).toEqual({ status: 0, signal: null });
    expect(example.stdout).toMatch(/^0x[0-9a-f]{64} is in block \d+, gas price 0$/m);
  });

  it("accepts the transaction of the first command of the documents as it stands", async () => {
    const [, transaction = ""] = gettingStarted.match(/-d '\{"transactions":\["(0x[0-9a-f]+)"\]\}'/) ?? [];
    expect(await submit(url, [transaction], { key: DEV_API_KEY })).toMatchObject([
      { index: 0, success: true },
    ]);
  });
});
