// A developer takes the chain of `gas-waiver dev` back, and the service goes on with the chain as it is then.
import { Interface } from "ethers";
import { beforeAll, describe, expect, it } from "vitest";
import { useDevService } from "./support/devService.js";
import { rpcOf } from "./support/jsonRpc.js";
import { submit } from "./support/submit.js";
import { account, DEV_API_KEY, tokensOf, transferOf } from "./support/user.js";

const started = useDevService();
const WAIVER = account(10).address;
const REGISTRY = "0x000000000000000000000000000000000000f334";
const registry = new Interface(["function proposeRevoke(address)", "function vote(uint256, bool)"]);
const friend = account(9).address;

const rpc = () => rpcOf(started().rpcUrl);
const transfer = (user: number, nonce: number) =>
  account(user).signTransaction(transferOf(friend, 1n, nonce));
const send = async (signed: string, query = "?wait=included") => {
  const [line] = await submit(started().url, [signed], { query, key: DEV_API_KEY });
  return line;
};
const recordOf = async (id: string | undefined) => {
  const response = await fetch(`${started().url}/v1/submissions/${id}`, {
    headers: { authorization: `Bearer ${DEV_API_KEY}` },
  });
  return (await response.json()) as { state: string; error?: { reason: string; message: string } };
};
const waiverNonce = async () => Number(await rpc()("eth_getTransactionCount", WAIVER, "latest"));

beforeAll(() => rpc()("evm_setAutomine", true));

describe("the service behind a chain that a developer takes back", () => {
  it("carries the same transaction again after evm_revert, under another id, and keeps what is still on the chain", async () => {
    const kept = await send(await transfer(0, 0));
    const snapshot = await rpc()("evm_snapshot");
    const tokens = await tokensOf(started().chain, friend);
    const gone = await send(await transfer(0, 1));
    await send(await transfer(1, 0));
    expect(await rpc()("evm_revert", snapshot)).toBe(true);
    expect(await tokensOf(started().chain, friend)).toBe(tokens);
    expect(await recordOf(kept?.id)).toMatchObject({ state: "included" });
    expect(await recordOf(gone?.id)).toMatchObject({
      state: "failed",
      error: { reason: "NOT_INCLUDED", message: expect.stringContaining("the chain went back") },
    });
    // The InnerTx that is still on the chain is the same submission (D18).
    expect(await send(await transfer(0, 0))).toMatchObject({ success: true, id: kept?.id });
    const again = await send(await transfer(0, 1));
    expect(again).toMatchObject({ success: true, txHash: gone?.txHash });
    expect(again?.id).not.toBe(gone?.id);
    expect(await tokensOf(started().chain, friend)).toBe(tokens + 1n);
    expect(await waiverNonce()).toBe(2);
  });

  it("follows anvil_reset and anvil_loadState", async () => {
    const state = await rpc()("anvil_dumpState");
    await send(await transfer(2, 0));
    await rpc()("anvil_loadState", state);
    expect(await send(await transfer(2, 0))).toMatchObject({ success: true });
    await rpc()("anvil_reset");
    expect(await waiverNonce()).toBe(0);
    expect(await send(await transfer(0, 0))).toMatchObject({ success: true });
    expect(await waiverNonce()).toBe(1);
  });

  it("ends what is in flight, which comes back neither by itself nor from the snapshot's pool", async () => {
    await rpc()("evm_setAutomine", false);
    const waiting = send(await transfer(3, 0));
    // The wrapper is in the pool.
    await expect.poll(async () => Number(await rpc()("eth_getTransactionCount", WAIVER, "pending"))).toBe(2);
    const snapshot = await rpc()("evm_snapshot");
    expect(await rpc()("evm_revert", snapshot)).toBe(true);
    expect(await waiting).toMatchObject({ success: false, error: { reason: "NOT_INCLUDED" } });
    await rpc()("evm_setAutomine", true);
    await rpc()("evm_mine");
    expect(await waiverNonce()).toBe(1);
    expect(await send(await transfer(3, 0))).toMatchObject({ success: true });
    expect(await waiverNonce()).toBe(2);
  });

  it("changes nothing for a snapshot that does not exist", async () => {
    const sent = await send(await transfer(4, 0));
    expect(await rpc()("evm_revert", "0xffff")).toBe(false);
    expect(await send(await transfer(4, 0))).toMatchObject({ success: true, id: sent?.id });
  });

  it("forgets what the gateway has answered, and policies that the chain has lost", async () => {
    const snapshot = await rpc()("evm_snapshot");
    const gateway = rpcOf(`${started().url}/rpc/gwp_dev_local`);
    const sent = await send(await transfer(5, 0));
    expect(await gateway("eth_getTransactionReceipt", sent?.txHash)).toMatchObject({ status: "0x1" });
    await asValidator(0, registry.encodeFunctionData("proposeRevoke", [WAIVER]));
    for (const i of [0, 1, 2]) await asValidator(i, registry.encodeFunctionData("vote", [1, true]));
    await expect.poll(isReady, { timeout: 200_000 }).toBe(false);
    expect(await rpc()("evm_revert", snapshot)).toBe(true);
    expect(await gateway("eth_getTransactionReceipt", sent?.txHash)).toBe(null);
    expect(await send(await transfer(5, 0))).toMatchObject({ success: true });
  });
});

async function asValidator(i: number, data: string): Promise<void> {
  await rpc()("eth_sendTransaction", { from: account(20 + i).address, to: REGISTRY, data });
}

async function isReady(): Promise<boolean> {
  const response = await fetch(`${started().url}/v1/ready`, {
    headers: { authorization: `Bearer ${DEV_API_KEY}` },
  });
  return response.status === 200;
}
