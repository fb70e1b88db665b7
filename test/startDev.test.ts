// startDev as the tests of an application use it.
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createDevnet, devnetAccount, TestToken } from "@gas-waiver/devnet";
import { hexToBytes } from "@gas-waiver/protocol";
import { createServer, privateKeyWaiver, startScratchPostgres } from "@gas-waiver/server";
import { ContractFactory, JsonRpcProvider, Wallet } from "ethers";
import { type Dev, startDev } from "gas-waiver";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshFolder } from "./support/freshFolder.js";
import { root } from "./support/program.js";
import { submit } from "./support/submit.js";
import { account, DEV_API_KEY, transferData, transferOf } from "./support/user.js";

const friend = account(9).address;
const cacheDir = freshFolder();

describe("startDev", () => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev({ cacheDir });
  });
  afterAll(() => dev.stop());

  const transfer = () => ({ to: dev.token, data: transferData(friend, 1n) });

  it("sends for an account of the devnet, a private key, and wallets of ethers and viem, without gas", async () => {
    const wallets = [
      devnetAccount(0),
      devnetAccount(1).privateKey,
      new Wallet(devnetAccount(2).privateKey),
      privateKeyToAccount(devnetAccount(3).privateKey),
    ];
    for (const [i, wallet] of wallets.entries()) {
      const sender = dev.gasless(wallet);
      expect(sender.address.toLowerCase()).toBe(devnetAccount(i).address.toLowerCase());
      expect(await sender.send(transfer())).toMatchObject({ status: "0x1", effectiveGasPrice: "0x0" });
    }
  });

  it("refuses a name in place of an address before it asks the node", async () => {
    const sent = dev.gasless(account(3)).send({ to: "alice.eth" });
    await expect(sent).rejects.toThrow("to is alice.eth, and no address: names are not resolved");
  });

  it("sends many of one wallet at the same time, in the order of the calls", async () => {
    const sender = dev.gasless(devnetAccount(4));
    const receipts = await Promise.all([1, 2, 3, 4, 5].map(() => sender.send(transfer())));
    const blocks = receipts.map(({ blockNumber }) => Number(blockNumber));
    expect(blocks).toEqual([...blocks].sort((a, b) => a - b));
  });

  it("allows a contract of one's own, by a signature, beside what was allowed; a refusal names the command", async () => {
    const provider = new JsonRpcProvider(dev.rpcUrl, dev.chainId, { staticNetwork: true, cacheTimeout: -1 });
    const deployer = new Wallet(dev.funded.privateKey, provider);
    const own = await new ContractFactory(
      TestToken.abi,
      `0x600a600c600039600a6000f3${"00".repeat(10)}`,
      deployer,
    )
      .deploy({ gasPrice: 2n * 10n ** 9n })
      .then((contract) => contract.getAddress());
    provider.destroy();
    const sender = dev.gasless(devnetAccount(5));
    const command = `npx gas-waiver governance allow --dev --rpc-url ${dev.rpcUrl} --waiver ${devnetAccount(10).address} --target ${own.toLowerCase()}`;
    await expect(sender.send({ to: own, data: "0x40c10f19" })).rejects.toMatchObject({
      reason: "TARGET_NOT_ALLOWED",
      message: expect.stringContaining(command),
    });
    await dev.allow(own, ["mint(address,uint256)"]);
    expect(await sender.send({ to: own, data: "0x40c10f19" })).toMatchObject({ status: "0x1" });
    await expect(sender.send({ to: own, data: "0x12345678" })).rejects.toMatchObject({
      reason: "SELECTOR_NOT_ALLOWED",
    });
    await dev.allow(own);
    await dev.allow(own);
    expect(await sender.send({ to: own, data: "0x12345678" })).toMatchObject({ status: "0x1" });
    expect(await sender.send(transfer())).toMatchObject({ status: "0x1" });
  });

  it("goes back to a snapshot, with the service and what it was allowed, and on from there", async () => {
    const sender = dev.gasless(devnetAccount(6));
    const snapshot = await dev.snapshot();
    const { blockNumber } = await sender.send(transfer());
    await dev.allow(friend);
    await dev.revert(snapshot);
    expect(await sender.send(transfer())).toMatchObject({ status: "0x1", blockNumber });
    await expect(sender.send({ to: friend })).rejects.toMatchObject({ reason: "TARGET_NOT_ALLOWED" });
    await expect(dev.revert(snapshot)).rejects.toThrow(`there is no snapshot ${snapshot}`);
  });

  it("runs several in one process, each on its own, with the limits of the service as a test wants them", async () => {
    const other = await startDev({ cacheDir, service: { maxBatchSize: 2, requestTimeoutMs: 3_000 } });
    try {
      await other.gasless(devnetAccount(7)).send(transfer());
      const nonceOf = ({ devnet }: Dev) =>
        devnet.request({ method: "eth_getTransactionCount", params: [devnetAccount(7).address, "latest"] });
      expect(await nonceOf(other)).toBe("0x1");
      expect(await nonceOf(dev)).toBe("0x0");
      await expect(submit(other.url, ["0x", "0x", "0x"], { key: DEV_API_KEY })).rejects.toThrow(
        "BATCH_SIZE_EXCEEDED",
      );
      await other.devnet.request({ method: "evm_setAutomine", params: [false] });
      await expect(other.gasless(devnetAccount(7)).send(transfer())).rejects.toMatchObject({
        reason: "NOT_INCLUDED",
      });
    } finally {
      await other.stop();
    }
  });
});

it("is in the recipe as its test file has it", () => {
  const [recipe, program] = ["docs/recipes/testing.md", "test/recipes/testing.test.ts"].map((file) =>
    readFileSync(join(root, file), "utf8"),
  );
  expect(recipe).toContain(`\`\`\`ts\n${program}\`\`\``);
});

describe("a service of a devnet whose folder is replaced by an older copy", () => {
  it("starts with the chain as it is, and carries the same transaction again", async () => {
    const [folder, copy] = [freshFolder(), freshFolder()];
    const postgres = await startScratchPostgres(cacheDir);
    const { url: databaseUrl } = await postgres.createDatabase();
    const waiver = privateKeyWaiver(hexToBytes(devnetAccount(10).privateKey));
    const signed = [0, 1].map((nonce) => account(0).signTransaction(transferOf(friend, 1n, nonce)));
    const run = async (stateDir: string, index: number) => {
      const devnet = await createDevnet({ blockTimeMs: 0, stateDir });
      const { url: rpcUrl } = await devnet.listen({ port: 0 });
      const waivers = [waiver];
      const server = await createServer({
        ...{ chainId: 2201, rpcUrl, waivers, apiKeys: [], publicApiKeys: [DEV_API_KEY], databaseUrl },
        ...{ newChain: "adopt", logLevel: "silent" },
      });
      const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
      const options = { query: "?wait=included", key: DEV_API_KEY };
      const [line] = await submit(url, [await signed[index]], options);
      await server.close();
      await devnet.close();
      return line;
    };
    try {
      expect(await run(folder, 0)).toMatchObject({ success: true });
      cpSync(folder, join(copy, "chain"), { recursive: true });
      const lost = await run(folder, 1);
      const again = await run(join(copy, "chain"), 1);
      expect(again).toMatchObject({ success: true, txHash: lost?.txHash });
      expect(again?.id).not.toBe(lost?.id);
    } finally {
      await postgres.stop();
    }
  });
});
