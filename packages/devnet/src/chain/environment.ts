import { crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { BlockEnvironment } from "../evm/executor.js";
import { accountsOf } from "../presets/accounts.js";
import type { Clock } from "./clock.js";
import type { Ledger } from "./ledger.js";

const ZERO_HASH: Hex = `0x${"00".repeat(32)}`;

/** The environment of the next block. Uses the clock's next timestamp. Validators take turns as coinbase. */
export function environmentAfter(
  parent: SealedBlock,
  ledger: Ledger,
  clock: Clock,
  gasLimit: bigint,
): BlockEnvironment {
  const number = parent.number + 1;
  const validators = accountsOf("validator");
  const proposer = validators[number % validators.length]?.address ?? "0x";
  return {
    number: BigInt(number),
    timestamp: clock.takeTimestamp(parent.timestamp),
    coinbase: hexToBytes(proposer),
    gasLimit,
    prevRandao: crypto.keccak256(hexToBytes(parent.hash)),
    hashOf: hashesOf(ledger),
  };
}

/** The environment of an existing block. */
export function environmentOf({ header }: SealedBlock, ledger: Ledger): BlockEnvironment {
  return {
    number: header.number,
    timestamp: header.timestamp,
    coinbase: header.coinbase.bytes,
    gasLimit: header.gasLimit,
    prevRandao: header.mixHash,
    hashOf: hashesOf(ledger),
  };
}

function hashesOf(ledger: Ledger): BlockEnvironment["hashOf"] {
  return (number) => hexToBytes(ledger.byNumber(number)?.hash ?? ZERO_HASH);
}
