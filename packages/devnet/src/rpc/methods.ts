import { bytesToHex, crypto, type Hex } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { Located } from "../chain/ledger.js";
import { DEVNET_CHAIN_ID } from "../constants.js";
import { findBlock, requireBlock, requireState } from "./blocks.js";
import { estimateGas, readCallRequest, runCall } from "./call.js";
import { invalidParams } from "./errors.js";
import { formatBlock, formatReceipt, formatTransaction, toQuantity } from "./format.js";
import { getLogs } from "./logs.js";
import { address, boolean, bytes, hash, optional, quantity, show } from "./params.js";

export type Params = readonly unknown[];
export type Method = (params: Params) => unknown;
export type Methods = Readonly<Record<string, Method>>;

/** Every method of the node, by name. A method returns its result or throws; a promise is as good. */
export function createMethods(chain: Chain, clientVersion: string): Methods {
  return {
    ...networkMethods(clientVersion),
    ...blockMethods(chain),
    ...stateMethods(chain),
    ...transactionMethods(chain),
    ...feeMethods(chain),
    // anvil and hardhat answer "0x0" too.
    evm_mine: async () => {
      await chain.mine();
      return "0x0";
    },
  };
}

function networkMethods(clientVersion: string): Methods {
  return {
    eth_chainId: () => toQuantity(DEVNET_CHAIN_ID),
    net_version: () => DEVNET_CHAIN_ID.toString(),
    net_listening: () => true,
    net_peerCount: () => "0x0",
    web3_clientVersion: () => clientVersion,
    web3_sha3: ([data]) => bytesToHex(crypto.keccak256(bytes(data, "data"))),
    eth_accounts: () => [],
    eth_syncing: () => false,
    eth_protocolVersion: () => "0x41",
  };
}

function blockMethods(chain: Chain): Methods {
  const shown = (block: ReturnType<typeof findBlock>, full: unknown) =>
    block === undefined
      ? null
      : formatBlock(
          block,
          optional(full, false, (value) => boolean(value, "the second parameter")),
        );
  const count = (block: ReturnType<typeof findBlock>) =>
    block === undefined ? null : toQuantity(block.transactions.length);
  return {
    eth_blockNumber: () => toQuantity(chain.head.number),
    eth_getBlockByNumber: ([tag, full]) => shown(findBlock(chain, tag), full),
    eth_getBlockByHash: ([blockHash, full]) => shown(chain.ledger.byHash(hash(blockHash)), full),
    eth_getBlockTransactionCountByNumber: ([tag]) => count(findBlock(chain, tag)),
    eth_getBlockTransactionCountByHash: ([blockHash]) => count(chain.ledger.byHash(hash(blockHash))),
    eth_getBlockReceipts: ([tag]) => {
      const block = findBlock(chain, isHash(tag) ? { blockHash: tag } : tag);
      if (block === undefined) return null;
      return block.transactions.map((included, index) => formatReceipt({ block, index, included }));
    },
    eth_getLogs: ([filter]) => getLogs(chain, filter),
  };
}

function stateMethods(chain: Chain): Methods {
  const accountAt = (account: unknown, tag: unknown) =>
    requireState(chain, tag).state.account(bytesToHex(address(account)));
  return {
    eth_getBalance: ([account, tag]) => toQuantity(accountAt(account, tag)?.balance ?? 0n),
    eth_getTransactionCount: ([account, tag]) => {
      const next = accountAt(account, tag)?.nonce ?? 0n;
      const pending = tag === "pending";
      return toQuantity(pending ? chain.pool.nextNonce(bytesToHex(address(account)), next) : next);
    },
    eth_getCode: ([account, tag]) => {
      const { state } = requireState(chain, tag);
      const record = state.account(bytesToHex(address(account)));
      return record === undefined ? "0x" : bytesToHex(state.code(record.codeHash));
    },
    eth_getStorageAt: ([account, slot, tag]) => {
      const { state } = requireState(chain, tag);
      const key = quantity(slot, "slot").toString(16).padStart(64, "0");
      const value = bytesToHex(state.slot(bytesToHex(address(account)), `0x${key}`));
      return `0x${value.slice(2).padStart(64, "0")}`;
    },
    eth_call: ([call, tag, overrides]) => {
      if (overrides !== undefined && overrides !== null) {
        throw invalidParams("state overrides are not supported");
      }
      const { block, state } = requireState(chain, tag);
      return runCall(chain, readCallRequest(call), block, state);
    },
    eth_estimateGas: async ([call, tag]) => {
      const { block, state } = requireState(chain, tag);
      return toQuantity(await estimateGas(chain, readCallRequest(call), block, state));
    },
  };
}

function transactionMethods(chain: Chain): Methods {
  const at = (block: ReturnType<typeof findBlock>, index: unknown): Located | undefined => {
    const place = Number(quantity(index, "index", 2n ** 53n));
    const included = block?.transactions[place];
    return block && included && { block, index: place, included };
  };
  const shown = (located: Located | undefined) =>
    located === undefined ? null : formatTransaction(located.included.tx, located);
  return {
    eth_sendRawTransaction: ([raw]) => chain.send(bytes(raw, "the transaction")),
    eth_getTransactionByHash: ([txHash]) => {
      const wanted = hash(txHash);
      const located = chain.ledger.transaction(wanted);
      if (located !== undefined) return shown(located);
      const waiting = chain.pool.find(wanted);
      return waiting === undefined ? null : formatTransaction(waiting.tx, undefined);
    },
    eth_getTransactionByBlockNumberAndIndex: ([tag, index]) => shown(at(findBlock(chain, tag), index)),
    eth_getTransactionByBlockHashAndIndex: ([blockHash, index]) =>
      shown(at(chain.ledger.byHash(hash(blockHash)), index)),
    eth_getRawTransactionByHash: ([txHash]) => {
      const wanted = hash(txHash);
      const tx = chain.ledger.transaction(wanted)?.included.tx ?? chain.pool.find(wanted)?.tx;
      return tx === undefined ? null : bytesToHex(tx.raw);
    },
    eth_getTransactionReceipt: ([txHash]) => {
      const located = chain.ledger.transaction(hash(txHash));
      return located === undefined ? null : formatReceipt(located);
    },
  };
}

const MAX_FEE_HISTORY = 1_024n;

/** The base fee is 0 in every header; the floor of D11 shows up as the price and the tip to offer. */
function feeMethods(chain: Chain): Methods {
  const floor = () => toQuantity(chain.options.minGasPrice);
  return {
    eth_gasPrice: floor,
    eth_maxPriorityFeePerGas: floor,
    eth_feeHistory: ([count, newest, percentiles]) => {
      const wanted = typeof count === "number" ? BigInt(count) : quantity(count, "blockCount");
      const last = requireBlock(chain, newest).number;
      const size = Number(wanted < MAX_FEE_HISTORY ? wanted : MAX_FEE_HISTORY);
      const first = Math.max(0, last - size + 1);
      const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i).slice(0, size);
      const points = readPercentiles(percentiles);
      return {
        oldestBlock: toQuantity(first),
        baseFeePerGas: [...numbers.map(() => "0x0"), "0x0"],
        gasUsedRatio: numbers.map((number) => gasUsedRatio(chain, number)),
        ...(points > 0 && { reward: numbers.map((): Hex[] => Array(points).fill(floor())) }),
      };
    },
  };
}

function readPercentiles(value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (!Array.isArray(value) || value.some((item) => typeof item !== "number" || item < 0 || item > 100)) {
    throw invalidParams(`rewardPercentiles is ${show(value)}, not a list of numbers from 0 to 100`);
  }
  return value.length;
}

function gasUsedRatio(chain: Chain, number: number): number {
  const header = chain.ledger.byNumber(number)?.header;
  return header === undefined ? 0 : Number(header.gasUsed) / Number(header.gasLimit);
}

function isHash(tag: unknown): boolean {
  return typeof tag === "string" && /^0x[0-9a-fA-F]{64}$/.test(tag);
}
