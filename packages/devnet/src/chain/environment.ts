import { crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { BlockEnvironment } from "../evm/executor.js";
import type { AdmissionRules } from "../pool/admission.js";
import { accountsOf } from "../presets/accounts.js";
import type { Clock } from "./clock.js";
import type { Ledger } from "./ledger.js";

const ZERO_HASH: Hex = `0x${"00".repeat(32)}`;

/** Fields of the next blocks that tests may set. */
export interface BlockSettings {
  /** The address that gets the fees; undefined while the validators take turns. */
  coinbase?: Uint8Array | undefined;
  /** PREVRANDAO of the next block; undefined if it follows from the parent's hash. */
  nextPrevRandao?: Uint8Array | undefined;
}

/** The parts of the chain that the next block's environment comes from. */
export interface EnvironmentSources {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly settings: BlockSettings;
  readonly rules: AdmissionRules;
}

/** The environment of the next block. Uses up the timestamp and the PREVRANDAO that were set for it. */
export function environmentAfter(
  parent: SealedBlock,
  { ledger, clock, settings, rules }: EnvironmentSources,
): BlockEnvironment {
  const number = parent.number + 1;
  const prevRandao = settings.nextPrevRandao ?? crypto.keccak256(hexToBytes(parent.hash));
  settings.nextPrevRandao = undefined;
  return {
    chainId: rules.chainId,
    baseFee: rules.baseFee,
    number: BigInt(number),
    timestamp: clock.takeTimestamp(parent.timestamp),
    coinbase: settings.coinbase ?? proposerOf(number),
    gasLimit: rules.blockGasLimit,
    prevRandao,
    hashOf: hashesOf(ledger),
  };
}

/** Validators take turns. */
function proposerOf(block: number): Uint8Array {
  const validators = accountsOf("validator");
  return hexToBytes(validators[block % validators.length]?.address ?? "0x");
}

/** The environment of an existing block. */
export function environmentOf({ header }: SealedBlock, ledger: Ledger, chainId: bigint): BlockEnvironment {
  return {
    chainId,
    baseFee: header.baseFeePerGas ?? 0n,
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
