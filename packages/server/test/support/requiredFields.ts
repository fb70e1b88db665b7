// The members without which a client's own library cannot read an answer, each read in the source named beside it. Libraries
// that read any answer leniently, such as web3.js, web3.py, web3j and Nethereum, need none.
import { expect } from "vitest";

/** The answers that libraries read. A header is one that a subscription announces. */
export type AnswerKind =
  | "block"
  | "header"
  | "transaction"
  | "typedTransaction"
  | "receipt"
  | "log"
  | "feeHistory";

interface Library {
  readonly source: string;
  readonly fields: Partial<Readonly<Record<AnswerKind, readonly string[]>>>;
}

const HEADER = [
  ...["parentHash", "sha3Uncles", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty"],
  ...["number", "gasLimit", "gasUsed", "timestamp", "extraData"],
];
const TRANSACTION = ["nonce", "gas", "value", "input", "r", "s", "v"];
const LOG = ["address", "topics", "data", "transactionHash"];

const LIBRARIES: Readonly<Record<string, Library>> = {
  "go-ethereum 1.17": {
    source: "core/types/gen_*_json.go, core/types/transaction_marshalling.go, ethclient/ethclient.go",
    fields: {
      block: [...HEADER, "transactions", "uncles"],
      header: HEADER,
      transaction: [...TRANSACTION, "gasPrice"],
      typedTransaction: [...TRANSACTION, "chainId", "maxFeePerGas", "maxPriorityFeePerGas"],
      receipt: ["cumulativeGasUsed", "logsBloom", "logs", "transactionHash", "gasUsed"],
      log: LOG,
      feeHistory: ["oldestBlock", "gasUsedRatio"],
    },
  },
  "alloy 2": {
    source:
      "crates/consensus/src/{block,receipt,transaction}, crates/rpc-types-eth/src/{block,log,fee,transaction}",
    fields: {
      block: [...HEADER, "miner", "mixHash", "nonce", "hash"],
      header: [...HEADER, "miner", "mixHash", "nonce", "hash"],
      transaction: [...TRANSACTION, "gasPrice", "from", "hash"],
      typedTransaction: [
        ...[...TRANSACTION, "chainId", "maxFeePerGas", "maxPriorityFeePerGas", "accessList", "yParity"],
        ...["from", "hash"],
      ],
      receipt: [
        ...["type", "status", "cumulativeGasUsed", "logs", "logsBloom", "transactionHash", "gasUsed"],
        ...["effectiveGasPrice", "from"],
      ],
      log: [...LOG, "blockNumber", "transactionIndex", "logIndex"],
      feeHistory: ["gasUsedRatio"],
    },
  },
  "ethers 6": {
    source: "src.ts/providers/format.ts",
    fields: {
      block: ["parentHash", "number", "timestamp", "difficulty", "gasLimit", "gasUsed", "extraData"],
      transaction: [...TRANSACTION, "hash", "from"],
      typedTransaction: [...TRANSACTION, "hash", "from"],
      receipt: [
        ...["transactionIndex", "gasUsed", "blockHash", "transactionHash", "logs", "blockNumber"],
        ...["cumulativeGasUsed", "effectiveGasPrice"],
      ],
      log: [...LOG, "blockHash", "blockNumber", "transactionIndex", "logIndex"],
    },
  },
  "viem 2": {
    source: "src/utils/formatters",
    fields: { feeHistory: ["baseFeePerGas", "gasUsedRatio", "oldestBlock"] },
  },
};

/** Expects that every library can read the answer. */
export function expectReadable(kind: AnswerKind, answer: unknown): void {
  const given = Object.entries(answer as object).filter(([, value]) => value !== null && value !== undefined);
  const fields = new Set(given.map(([field]) => field));
  const missing = Object.entries(LIBRARIES).flatMap(([library, { source, fields: required }]) =>
    (required[kind] ?? []).filter((field) => !fields.has(field)).map((field) => ({ library, source, field })),
  );
  expect(missing).toEqual([]);
}
