import { createDevnet, devnetAccount } from "@gas-waiver/devnet";
import { bytesToHex, type Hex, hexToBytes, signTransaction } from "@gas-waiver/protocol";
import { afterEach, expect, it } from "vitest";
import { type Anvil, startAnvil } from "../bench/devnet/anvil.mjs";
import { type RpcCall, rpcOf } from "./support/jsonRpc.js";

// Compares the devnet with anvil, a node in another language with another EVM. anvil knows no waivers, so this test
// compares the balances, nonces and receipts of ordinary transactions.

/** The devnet's accounts with a balance, which anvil funds as well. */
const PAYERS = [13, 20, 21, 22, 23];
const COUNT = 300;
const GWEI = 10n ** 9n;
/** Init code of a contract that increments slot 0 and logs its value, and of one that reverts. */
const COUNTER = "0x6013600c60003960136000f36000546001018060005560005260206000a000";
const REVERTS = "0x6005600c60003960056000f360006000fd";

let anvil: Anvil | undefined;
afterEach(() => anvil?.close());

const recipient = (i: number): Hex => `0x${(0xab_0000 + (i % 17)).toString(16).padStart(40, "0")}`;

/** Payments, calls that store and log, ones that revert, some of them with an access list, and deployments. */
function transactions(contracts: readonly Hex[]): Hex[] {
  return Array.from({ length: COUNT }, (_, i) => {
    const payer = PAYERS[i % PAYERS.length] ?? 13;
    const base = {
      chainId: 2201n,
      nonce: BigInt(Math.floor(i / PAYERS.length)) + (payer === 13 ? 2n : 0n),
      gasLimit: 200_000n,
      value: 0n,
      data: new Uint8Array(0),
    };
    const paying = { ...base, to: hexToBytes(recipient(i)), value: BigInt(i) };
    const calling = { ...base, to: hexToBytes(contracts[i % 2] ?? "0x") };
    const accessList = [{ address: hexToBytes(contracts[0] ?? "0x"), storageKeys: [new Uint8Array(32)] }];
    const tip = { maxPriorityFeePerGas: GWEI, maxFeePerGas: 3n * GWEI };
    const shapes = [
      { ...paying, type: "legacy", gasPrice: GWEI },
      { ...paying, type: "eip1559", ...tip, accessList: [] },
      { ...calling, type: "legacy", gasPrice: 2n * GWEI },
      { ...calling, type: "eip2930", gasPrice: GWEI, accessList },
      { ...calling, type: "eip1559", ...tip, accessList },
      { ...base, to: undefined, data: hexToBytes(COUNTER), type: "legacy", gasPrice: GWEI },
    ] as const;
    const shape = shapes[(i * 7) % shapes.length] ?? shapes[0];
    return bytesToHex(signTransaction(shape, hexToBytes(devnetAccount(payer).privateKey)).raw);
  });
}

function deployments(): Hex[] {
  const key = hexToBytes(devnetAccount(13).privateKey);
  return [COUNTER, REVERTS].map((code, i) => {
    const fields = { chainId: 2201n, nonce: BigInt(i), gasPrice: GWEI, gasLimit: 300_000n, value: 0n };
    const tx = { ...fields, type: "legacy", to: undefined, data: hexToBytes(code as Hex) } as const;
    return bytesToHex(signTransaction(tx, key).raw);
  });
}

async function sendAll(call: RpcCall, raws: readonly Hex[]): Promise<Hex[]> {
  const hashes: Hex[] = [];
  for (const raw of raws) hashes.push((await call("eth_sendRawTransaction", raw)) as Hex);
  await call("evm_mine");
  return hashes;
}

interface ReceiptJson {
  readonly status: Hex;
  readonly gasUsed: Hex;
  readonly effectiveGasPrice: Hex;
  readonly logsBloom: Hex;
  readonly contractAddress: Hex | null;
}

async function receipts(call: RpcCall, hashes: readonly Hex[]) {
  const all = await Promise.all(hashes.map((hash) => call("eth_getTransactionReceipt", hash)));
  return (all as ReceiptJson[]).map(({ status, gasUsed, effectiveGasPrice, logsBloom, contractAddress }) => {
    return { status, gasUsed, effectiveGasPrice, logsBloom, contractAddress };
  });
}

it("agrees with anvil on the balances, nonces and receipts of the same transactions", async () => {
  anvil = await startAnvil();
  const devnet = await createDevnet({ blockTimeMs: 0, automine: false });
  const devnetRpc: RpcCall = <T>(method: string, ...params: readonly unknown[]) =>
    devnet.request({ method, params }) as Promise<T>;
  const anvilRpc = rpcOf(anvil.url);
  // The two have other balances at genesis and pay fees to other proposers, so this compares the changes of balances.
  const accounts = [
    ...PAYERS.map((i) => devnetAccount(i).address),
    ...Array.from({ length: 17 }, (_, i) => recipient(i)),
  ];
  const accountsOf = async (call: RpcCall) => ({
    balances: await Promise.all(
      accounts.map(async (a) => BigInt((await call("eth_getBalance", a, "latest")) as Hex)),
    ),
    nonces: await Promise.all(accounts.map((a) => call("eth_getTransactionCount", a, "latest"))),
  });
  const onBothNodes = async (raws: readonly Hex[]) => {
    const hashes = await sendAll(devnetRpc, raws);
    expect(await sendAll(anvilRpc, raws)).toEqual(hashes);
    const results = await receipts(devnetRpc, hashes);
    expect(await receipts(anvilRpc, hashes)).toEqual(results);
    return results;
  };
  const [devnetStart, anvilStart] = [await accountsOf(devnetRpc), await accountsOf(anvilRpc)];
  const contracts = (await onBothNodes(deployments())).map(({ contractAddress }) => contractAddress ?? "0x");
  const results = await onBothNodes(transactions(contracts));
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["0x0", "0x1"]));

  const [devnetEnd, anvilEnd] = [await accountsOf(devnetRpc), await accountsOf(anvilRpc)];
  expect(devnetEnd.nonces).toEqual(anvilEnd.nonces);
  const fees = await feesOf(devnetRpc, [1, 2]);
  accounts.forEach((account, i) => {
    const change = (end: typeof devnetEnd, start: typeof devnetEnd) =>
      (end.balances[i] ?? 0n) - (start.balances[i] ?? 0n);
    const earned = fees.get(account.toLowerCase()) ?? 0n;
    expect([account, change(devnetEnd, devnetStart) - earned]).toEqual([
      account,
      change(anvilEnd, anvilStart),
    ]);
  });
  await devnet.close();
});

/** The fees of these blocks, by proposer. */
async function feesOf(call: RpcCall, blocks: readonly number[]): Promise<Map<string, bigint>> {
  const fees = new Map<string, bigint>();
  for (const number of blocks) {
    const tag = `0x${number.toString(16)}`;
    const { miner } = (await call("eth_getBlockByNumber", tag, false)) as { miner: string };
    for (const receipt of (await call("eth_getBlockReceipts", tag)) as ReceiptJson[]) {
      const fee = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
      fees.set(miner, (fees.get(miner) ?? 0n) + fee);
    }
  }
  return fees;
}
