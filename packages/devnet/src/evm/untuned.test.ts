import { createBlock } from "@ethereumjs/block";
import { type Common, createCustomCommon, Hardfork, Mainnet } from "@ethereumjs/common";
import { MerkleStateManager } from "@ethereumjs/statemanager";
import { createTxFromRLP } from "@ethereumjs/tx";
import { Account, Address } from "@ethereumjs/util";
import { createVM, runTx, type VM } from "@ethereumjs/vm";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { genesisState } from "../chain/genesis.js";
import {
  addressOf,
  createTestNode,
  hashOf,
  signInner,
  signOrdinary,
  type TestNode,
  transferData,
  wrap,
} from "../testing/node.js";

// The same transactions through EthereumJS as it comes: its own Common, crypto, state manager and trie.

/** Init code that stores 1 and destroys its contract in the transaction that made it (EIP-6780). */
const STORE_AND_DESTROY = "0x600160005533ff";
/** Init code that makes such a contract with CREATE2, stores 5, and logs a word. */
const CREATE2_AND_LOG = "0x66600160005533ff6000526000600760196000f550600560015560206000a000";
/** Its contract raises slot 0 and logs the new value. */
const COUNTER = "0x6013600c60003960136000f36000546001018060005560005260206000a000";
/** Its contract sets slot 0 to 1 and back to 0 by turns, which refunds gas. */
const TOGGLE = "0x6008600c60003960086000f36000541560005500";

let node: TestNode;
beforeEach(async () => {
  node = await createTestNode();
});
afterEach(() => node.devnet.close());

async function untunedVm(): Promise<VM> {
  const common: Common = createCustomCommon({ chainId: 2201 }, Mainnet, { hardfork: Hardfork.Prague });
  const state = new MerkleStateManager({ common });
  const genesis = genesisState();
  for (const [address, record] of genesis.changes.accounts) {
    const at = new Address(hexToBytes(address));
    if (record === undefined) continue;
    await state.putAccount(at, new Account(record.nonce, record.balance));
    const code = genesis.code(record.codeHash);
    if (code.length > 0) await state.putCode(at, code);
    for (const [slot, value] of genesis.changes.slots.get(address) ?? []) {
      await state.putStorage(at, hexToBytes(slot), value);
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

/** Runs a block's transactions and compares gas and status; a wrapper only raises its waiver's nonce (D9). */
async function replay(vm: VM, json: BlockJson): Promise<Hex> {
  const header = {
    number: json.number,
    timestamp: json.timestamp,
    coinbase: json.miner,
    gasLimit: json.gasLimit,
    mixHash: json.mixHash,
    baseFeePerGas: 0n,
  };
  const block = createBlock({ header }, { common: vm.common, skipConsensusFormatValidation: true });
  for (const hash of json.transactions) {
    const raw = hexToBytes(await node.rpc<Hex>("eth_getRawTransactionByHash", hash));
    const tx = createTxFromRLP(raw, { common: vm.common });
    if (tx.to?.toString() === "0x000000000000000000000000000000000000f333") {
      const waiver = (await vm.stateManager.getAccount(tx.getSenderAddress())) ?? new Account();
      waiver.nonce++;
      await vm.stateManager.putAccount(tx.getSenderAddress(), waiver);
      continue;
    }
    const { totalGasSpent, execResult } = await runTx(vm, { tx, block });
    const receipt = await node.receipt(hash);
    expect(BigInt(receipt.gasUsed)).toBe(totalGasSpent);
    expect(receipt.status).toBe(execResult.exceptionError === undefined ? "0x1" : "0x0");
    expect(receipt.logs).toHaveLength(execResult.logs?.length ?? 0);
  }
  return bytesToHex(await vm.stateManager.getStateRoot());
}

it("gives the same state roots, gas and logs for mixed transactions, block by block", async () => {
  const vm = await untunedVm();
  const genesis = await node.rpc<BlockJson>("eth_getBlockByNumber", "0x0");
  expect(bytesToHex(await vm.stateManager.getStateRoot())).toBe(genesis.stateRoot);

  let waiverNonce = 0n;
  let funded = 0n;
  const pay = (changes: { to?: Uint8Array | undefined; data?: Uint8Array; value?: bigint }) =>
    signOrdinary(13, { gasLimit: 300_000n, data: new Uint8Array(), ...changes, nonce: funded++ });
  const deploy = (code: Hex) => pay({ to: undefined, data: hexToBytes(code) });
  const mineAndCompare = async (raws: Hex[], count: number) => {
    await node.sendAndMine(...raws);
    const block = await node.rpc<BlockJson>("eth_getBlockByNumber", "latest");
    expect(block.transactions).toHaveLength(count);
    expect(await replay(vm, block)).toBe(block.stateRoot);
  };

  const made = [deploy(COUNTER), deploy(TOGGLE)];
  await mineAndCompare(made, 2);
  const contracts = await Promise.all(
    made.map(async (raw) => (await node.receipt(hashOf(raw))).contractAddress),
  );

  for (let round = 0n; round < 6n; round++) {
    const raws = [deploy(STORE_AND_DESTROY), deploy(CREATE2_AND_LOG)];
    for (let user = 0; user < 5; user++) {
      const amount = user === 4 ? 10n ** 30n : 10n ** 18n + round;
      const data = transferData(addressOf((user + 3) % 10), amount);
      raws.push(wrap(signInner(user, { nonce: round, data }), { nonce: waiverNonce++ }));
    }
    for (const contract of [...contracts, ...contracts]) raws.push(pay({ to: hexToBytes(contract ?? "") }));
    // A new account, and in the first round one that is touched and stays empty (EIP-161).
    raws.push(pay({ to: hexToBytes(`0x${(round + 0x1000n).toString(16).padStart(40, "0")}`), value: round }));
    await mineAndCompare(raws, 17);
  }
  const counter = contracts[0] ?? "0x";
  expect(BigInt(await node.rpc<Hex>("eth_getStorageAt", counter, "0x0", "latest"))).toBe(12n);
});
