// anvil, whose EVM is revm, runs the InnerTx of every included vector as an ordinary transaction of price 0. Its status,
// gas and logs must be the same, and the accounts after it: "executed as the user, keeping the user's from, nonce and call semantics".
import { Transaction } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChildProgram } from "../support/childProgram.js";
import { pathOf } from "../support/foundry.js";
import { rpcOf } from "../support/jsonRpc.js";
import { generate } from "./generate.js";
import type { Accounts } from "./state.js";
import { signedBytesOf } from "./transaction.js";

const { cases, contracts } = generate();

const included = cases.flatMap(({ name, wrapper, accounts, expect: expected }) =>
  expected.verdict === "included" ? [{ name, wrapper, accounts, expected }] : [],
);

const program = pathOf("anvil");
let anvil: ChildProgram | undefined;
let url = "";

const rpc = <T>(method: string, ...params: unknown[]) => rpcOf(url)<T>(method, ...params);

const hex = (value: bigint | number | string) => `0x${BigInt(value).toString(16)}`;

async function start(path: string): Promise<void> {
  const flags = [
    "--port",
    "0",
    "--chain-id",
    "2201",
    "--hardfork",
    "prague",
    "--accounts",
    "1",
    "--no-mining",
  ];
  const fees = ["--block-base-fee-per-gas", "0", "--gas-price", "0", "--disable-min-priority-fee"];
  anvil = new ChildProgram([...flags, ...fees], { command: path });
  const [, address = ""] = await anvil.line(/Listening on (\S+)/);
  url = `http://${address}`;
}

async function setState(accounts: Accounts): Promise<void> {
  for (const [address, { code, storage }] of Object.entries(contracts)) {
    await rpc("anvil_setCode", address, code);
    await rpc("anvil_setNonce", address, "0x1");
    for (const [slot, value] of Object.entries(storage)) {
      await rpc("anvil_setStorageAt", address, slot, `0x${value.slice(2).padStart(64, "0")}`);
    }
  }
  for (const [address, { nonce, balance, code = "0x" }] of Object.entries(accounts)) {
    await rpc("anvil_setCode", address, code);
    await rpc("anvil_setBalance", address, hex(balance));
    await rpc("anvil_setNonce", address, hex(nonce));
  }
}

describe.skipIf(program === undefined)("anvil runs the InnerTx with the effects of the vector", () => {
  beforeAll(() => start(program ?? ""));
  afterAll(() => anvil?.end());

  it.each(included)("$name", async ({ wrapper, accounts, expected }) => {
    const snapshot = await rpc("evm_snapshot");
    await setState(accounts);
    const inner = Transaction.from(signedBytesOf(Transaction.from(wrapper).data));
    // A waiver that carries its own InnerTx has used a nonce for the wrapper.
    await rpc("anvil_setNonce", expected.sender, hex(inner.nonce));
    await rpc("anvil_setBalance", expected.sender, hex(accounts[expected.sender]?.balance ?? 0));
    expect(await rpc("eth_sendRawTransaction", inner.serialized)).toBe(expected.innerHash);
    await rpc("evm_mine");
    expect(await rpc("eth_getTransactionReceipt", expected.innerHash)).toMatchObject({
      status: hex(expected.status),
      gasUsed: hex(expected.innerGasUsed),
      logs: expected.logs,
    });
    for (const [address, { balance, nonce }] of Object.entries(expected.accounts)) {
      expect(await rpc("eth_getBalance", address, "latest"), address).toBe(hex(balance));
      if (address === expected.waiver && expected.waiver !== expected.sender) continue;
      expect(await rpc("eth_getTransactionCount", address, "latest"), address).toBe(hex(nonce));
    }
    await rpc("evm_revert", snapshot);
  });
});
