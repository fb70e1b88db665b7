import { createBlock } from "@ethereumjs/block";
import { type Common, createCustomCommon, Hardfork, Mainnet } from "@ethereumjs/common";
import { MerkleStateManager } from "@ethereumjs/statemanager";
import { createTxFromRLP } from "@ethereumjs/tx";
import { Account, Address } from "@ethereumjs/util";
import { createVM, runTx, type VM } from "@ethereumjs/vm";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { MixedLoad } from "../../test/support/mixedLoad.js";
import { createTestNode, type TestNode } from "../../test/support/testNode.js";
import { genesisState } from "../chain/genesis.js";

// Runs the same transactions through the devnet and through unmodified EthereumJS, with EthereumJS' own Common,
// cryptography, state manager, interpreter loop and trie.

const SEED = 20_260;
const BLOCKS = 6;
const PER_BLOCK = 80;

async function originalVm(): Promise<VM> {
  const common: Common = createCustomCommon({ chainId: 2201 }, Mainnet, { hardfork: Hardfork.Prague });
  const state = new MerkleStateManager({ common });
  const genesis = genesisState();
  for (const [address, record] of genesis.changes.accounts) {
    const account = new Address(hexToBytes(address));
    if (record === undefined) continue;
    await state.putAccount(account, new Account(record.nonce, record.balance));
    const code = genesis.code(record.codeHash);
    if (code.length > 0) await state.putCode(account, code);
    for (const [slot, value] of genesis.changes.slots.get(address) ?? []) {
      await state.putStorage(account, hexToBytes(slot), value);
    }
  }
  return createVM({ common, stateManager: state });
}

interface BlockJson {
  readonly number: Hex;
  readonly stateRoot: Hex;
  readonly timestamp: Hex;
  readonly miner: Hex;
  readonly gasLimit: Hex;
  readonly mixHash: Hex;
  readonly transactions: readonly Hex[];
}

interface ReceiptJson {
  readonly status: Hex;
  readonly gasUsed: Hex;
  readonly logsBloom: Hex;
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex }[];
}

/** The result of a transaction, in the form of a receipt. */
type Result = Pick<ReceiptJson, "status" | "gasUsed" | "logsBloom" | "logs">;

async function run(vm: VM, raw: Uint8Array, block: ReturnType<typeof createBlock>): Promise<Result> {
  const tx = createTxFromRLP(raw, { common: vm.common });
  const { totalGasSpent, execResult, bloom } = await runTx(vm, { tx, block });
  return {
    status: execResult.exceptionError === undefined ? "0x1" : "0x0",
    gasUsed: `0x${totalGasSpent.toString(16)}`,
    logsBloom: bytesToHex(bloom.bitvector),
    logs: (execResult.logs ?? []).map(([address, topics, data]) => ({
      address: bytesToHex(address),
      topics: topics.map(bytesToHex),
      data: bytesToHex(data),
    })),
  };
}

function resultOf({ status, gasUsed, logsBloom, logs }: ReceiptJson): Result {
  const plain = logs.map(({ address, topics, data }) => ({ address, topics, data }));
  return { status, gasUsed, logsBloom, logs: plain };
}

/** Runs a block's transactions and compares each; a wrapper only raises its waiver's nonce (D9). */
async function replay(
  vm: VM,
  node: TestNode,
  json: BlockJson,
  kindCounts: Map<string, number>,
): Promise<Hex> {
  const header = {
    number: json.number,
    timestamp: json.timestamp,
    coinbase: json.miner,
    gasLimit: json.gasLimit,
    mixHash: json.mixHash,
    baseFeePerGas: 0n,
  };
  const block = createBlock({ header }, { common: vm.common, skipConsensusFormatValidation: true });
  const receipts = await node.rpc<ReceiptJson[]>("eth_getBlockReceipts", json.number);
  let wrapped = false;
  for (const [index, hash] of json.transactions.entries()) {
    const raw = hexToBytes(await node.rpc<Hex>("eth_getRawTransactionByHash", hash));
    const tx = createTxFromRLP(raw, { common: vm.common });
    if (tx.to?.toString() === "0x000000000000000000000000000000000000f333") {
      const waiver = (await vm.stateManager.getAccount(tx.getSenderAddress())) ?? new Account();
      waiver.nonce++;
      await vm.stateManager.putAccount(tx.getSenderAddress(), waiver);
      wrapped = true;
      continue;
    }
    const result = await run(vm, raw, block);
    const receipt = receipts[index];
    expect(receipt && resultOf(receipt)).toEqual(result);
    const kind = `${wrapped ? "wrapped" : "paid"} type ${tx.type} status ${Number(result.status)}`;
    kindCounts.set(kind, (kindCounts.get(kind) ?? 0) + 1);
    wrapped = false;
  }
  return bytesToHex(await vm.stateManager.getStateRoot());
}

it("gives the state roots, gas and logs of EthereumJS for transactions of every kind", async () => {
  const vm = await originalVm();
  const node = await createTestNode();
  const genesis = await node.rpc<BlockJson>("eth_getBlockByNumber", "0x0");
  expect(bytesToHex(await vm.stateManager.getStateRoot())).toBe(genesis.stateRoot);

  const load = new MixedLoad(SEED);
  const kindCounts = new Map<string, number>();
  const mineAndCompare = async (raws: readonly Hex[]) => {
    await node.sendAndMine(...raws);
    expect(node.devnet.drops()).toEqual([]);
    const block = await node.rpc<BlockJson>("eth_getBlockByNumber", "latest");
    expect(await replay(vm, node, block, kindCounts)).toBe(block.stateRoot);
  };
  await mineAndCompare(load.opening);
  for (let i = 0; i < BLOCKS; i++) await mineAndCompare(load.take(PER_BLOCK));

  const total = [...kindCounts.values()].reduce((sum, count) => sum + count, 0);
  expect(total).toBe(load.opening.length + BLOCKS * PER_BLOCK);
  // The load must contain each kind, successful and (but for type 4) failing.
  for (const type of [0, 1, 2, 4]) expect(kindCounts.get(`paid type ${type} status 1`)).toBeGreaterThan(5);
  for (const type of [0, 1, 2]) {
    expect(kindCounts.get(`paid type ${type} status 0`)).toBeGreaterThan(5);
    expect(kindCounts.get(`wrapped type ${type} status 0`)).toBeGreaterThan(5);
    expect(kindCounts.get(`wrapped type ${type} status 1`)).toBeGreaterThan(5);
  }
  await node.devnet.close();
}, 600_000);
