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
  signInner,
  signOrdinary,
  type TestNode,
  transferData,
  wrap,
} from "../testing/node.js";

// The same transactions through EthereumJS as it comes: its own Common, crypto, state manager and trie.

/** Creates a contract with CREATE2 that destroys itself in the same transaction (EIP-6780), and stores 1. */
const CREATE_AND_DESTROY = "0x61323360f01b6000526000600260006000f5600160005560005260206000f3";
/** Runtime `sstore(0, sload(0)+1); log1`: deployed once, called several times. */
const COUNTER = "0x600f600c600039600f6000f3600160005401806000556000526020600060a1";

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

/** Runs a block's transactions; a wrapper only raises its waiver's nonce (D9). */
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
    } else await runTx(vm, { tx, block });
  }
  return bytesToHex(await vm.stateManager.getStateRoot());
}

it("gives the same state roots for wrapped and ordinary transactions, block by block", async () => {
  const vm = await untunedVm();
  const genesis = await node.rpc<BlockJson>("eth_getBlockByNumber", "0x0");
  expect(bytesToHex(await vm.stateManager.getStateRoot())).toBe(genesis.stateRoot);

  const paid = { gasLimit: 500_000n };
  let waiverNonce = 0n;
  let funded = 0n;
  for (let round = 0n; round < 6n; round++) {
    const raws: Hex[] = [];
    for (let user = 0; user < 5; user++) {
      const to = addressOf((user + 3) % 10);
      const amount = user === 4 ? 10n ** 30n : 10n ** 18n + round;
      raws.push(
        wrap(signInner(user, { nonce: round, data: transferData(to, amount) }), { nonce: waiverNonce++ }),
      );
    }
    for (const code of [CREATE_AND_DESTROY, COUNTER]) {
      raws.push(signOrdinary(13, { ...paid, nonce: funded++, to: undefined, data: hexToBytes(code) }));
    }
    const fresh = hexToBytes(`0x${(round + 0x1000n).toString(16).padStart(40, "0")}`);
    raws.push(signOrdinary(13, { nonce: funded++, to: fresh, value: round, data: new Uint8Array() }));
    await node.sendAndMine(...raws);
    const block = await node.rpc<BlockJson>("eth_getBlockByNumber", "latest");
    expect(block.transactions).toHaveLength(13);
    expect(await replay(vm, block)).toBe(block.stateRoot);
  }
});
