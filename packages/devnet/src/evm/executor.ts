import { createBlock } from "@ethereumjs/block";
import type { EVM } from "@ethereumjs/evm";
import type { TypedTransaction } from "@ethereumjs/tx";
import { Address } from "@ethereumjs/util";
import { createVM, runTx, type VM } from "@ethereumjs/vm";
import type { Hex } from "@gas-waiver/protocol";
import type { Overlay } from "../state/overlay.js";
import type { CallTracer } from "./callTracer.js";
import { commonOf } from "./common.js";
import { feesOf } from "./gasPrice.js";

/** The block that a transaction runs in, as the EVM sees it. */
export interface BlockEnvironment {
  readonly chainId: bigint;
  /** The price per gas in wei of each transaction that pays. */
  readonly baseFee: bigint;
  readonly number: bigint;
  /** The time in seconds since 1970. */
  readonly timestamp: bigint;
  readonly coinbase: Uint8Array;
  readonly gasLimit: bigint;
  readonly prevRandao: Uint8Array;
  /** The 32-byte hash of an earlier block, for BLOCKHASH. */
  hashOf(number: number): Uint8Array;
}

export interface Log {
  /** 20 bytes. */
  readonly address: Uint8Array;
  /** 32 bytes each. */
  readonly topics: readonly Uint8Array[];
  readonly data: Uint8Array;
}

/** The result of a transaction that ran. One that cannot run at all throws instead. */
export interface Outcome {
  readonly status: 0 | 1;
  readonly gasUsed: bigint;
  readonly logs: readonly Log[];
  readonly returnData: Uint8Array;
  /** The EVM's error message if status is 0, such as "revert" or "out of gas". */
  readonly failure: string | undefined;
  /** The 20-byte address of the contract that the transaction created. */
  readonly created: Uint8Array | undefined;
}

/** An unsigned call, as eth_call and eth_estimateGas make. */
export interface Call {
  readonly from: Uint8Array;
  /** undefined creates a contract. */
  readonly to: Uint8Array | undefined;
  readonly data: Uint8Array;
  readonly value: bigint;
  readonly gasPrice: bigint;
  /** The gas for the execution, without the intrinsic gas. */
  readonly executionGas: bigint;
  /** The accounts and slots that are warm from the start, in lower-case hex. */
  readonly accessList?: readonly AccessedAccount[] | undefined;
  /** Fills in `accessed` of the outcome. */
  readonly reportAccess?: boolean;
}

/** An account that a call accesses, with the slots that it reads or writes. */
export interface AccessedAccount {
  readonly address: Hex;
  readonly storageKeys: readonly Hex[];
}

export interface CallOutcome {
  readonly status: 0 | 1;
  /** The gas that the execution used, before refunds. */
  readonly executionGasUsed: bigint;
  readonly gasRefund: bigint;
  readonly returnData: Uint8Array;
  readonly failure: string | undefined;
  /** An account that is always warm (caller, target, precompiles, coinbase) is here only if its slots are accessed. */
  readonly accessed: readonly AccessedAccount[];
}

/**
 * EthereumJS over one state and one block, and the only way to it. Runs must not overlap. An instance takes 0.3 ms to make, so
 * each block and each call gets its own.
 */
export class Execution {
  readonly #vm: VM;
  readonly #block: EvmBlock;
  readonly #waivedBlock: EvmBlock;

  private constructor(vm: VM, block: BlockEnvironment) {
    this.#vm = vm;
    this.#block = toBlock(block);
    this.#waivedBlock = block.baseFee === 0n ? this.#block : toBlock({ ...block, baseFee: 0n });
  }

  /** @param tracer records every run. */
  static async open(state: Overlay, block: BlockEnvironment, tracer?: CallTracer): Promise<Execution> {
    const common = commonOf(block.chainId);
    const vm = await createVM({
      common,
      stateManager: state,
      evmOpts: { common, stateManager: state, blockchain: hashesOf(block) },
    });
    tracer?.attach(vm.evm);
    return new Execution(vm, block);
  }

  /** Runs a signed transaction whose sender is known. @throws if the transaction must not be in a block. */
  async transaction(tx: TypedTransaction): Promise<Outcome> {
    const block = this.#blockFor(tx);
    const result = await runTx(this.#vm, { tx, block, skipHardForkValidation: true });
    const { execResult } = result;
    return {
      status: execResult.exceptionError === undefined ? 1 : 0,
      gasUsed: result.totalGasSpent,
      logs: (execResult.logs ?? []).map(([address, topics, data]) => ({ address, topics, data })),
      returnData: execResult.returnValue,
      failure: execResult.exceptionError?.error,
      created: result.createdAddress?.bytes,
    };
  }

  /**
   * The block that a transaction sees. EthereumJS refuses a price below the base fee. Geth has the same trouble with calls of
   * price 0, and gives them a block without a base fee.
   */
  #blockFor(tx: TypedTransaction): EvmBlock {
    const baseFee = this.#block.header.baseFeePerGas ?? 0n;
    if (baseFee === 0n || feesOf(tx)[1] === 0n) return this.#waivedBlock;
    payBaseFee(tx, baseFee);
    return this.#block;
  }

  /** Runs a call. Its changes stay in the state, so the state must be used for this call alone. */
  async call(call: Call): Promise<CallOutcome> {
    const { evm } = this.#vm;
    const caller = new Address(call.from);
    const to = call.to === undefined ? undefined : new Address(call.to);
    for (const address of evm.precompiles.keys()) evm.journal.addAlwaysWarmAddress(address);
    for (const address of [caller, to, this.#block.header.coinbase]) {
      if (address !== undefined) evm.journal.addAlwaysWarmAddress(address.toString());
    }
    for (const { address, storageKeys } of call.accessList ?? []) {
      evm.journal.addAlwaysWarmAddress(address);
      for (const key of storageKeys) evm.journal.addAlwaysWarmSlot(address, key);
    }
    if (call.reportAccess) evm.journal.startReportingAccessList();
    const { execResult } = await evm.runCall({
      block: call.gasPrice === 0n ? this.#waivedBlock : this.#block,
      caller,
      origin: caller,
      ...(to && { to }),
      data: call.data,
      value: call.value,
      gasPrice: call.gasPrice,
      gasLimit: call.executionGas,
      skipBalance: true,
    });
    return {
      status: execResult.exceptionError === undefined ? 1 : 0,
      executionGasUsed: execResult.executionGasUsed,
      gasRefund: execResult.gasRefund ?? 0n,
      returnData: execResult.returnValue,
      failure: execResult.exceptionError?.error,
      accessed: accessed(evm.journal.accessList),
    };
  }
}

/** Takes the tip out of a transaction that runs: the price is the base fee. Its bytes and hash are kept elsewhere. */
function payBaseFee(tx: TypedTransaction, baseFee: bigint): void {
  const fees = tx as { gasPrice?: bigint; maxFeePerGas?: bigint; maxPriorityFeePerGas?: bigint };
  if (fees.maxFeePerGas !== undefined) fees.maxPriorityFeePerGas = 0n;
  else fees.gasPrice = baseFee;
}

function accessed(list: EVM["journal"]["accessList"]): AccessedAccount[] {
  return [...(list ?? [])].map(([address, slots]) => ({
    address: prefixed(address),
    storageKeys: [...slots].map(prefixed),
  }));
}

function prefixed(hex: string): Hex {
  return `0x${hex.replace(/^0x/, "")}`;
}

type EvmBlock = ReturnType<typeof toBlock>;

function toBlock(block: BlockEnvironment) {
  const header = {
    number: block.number,
    timestamp: block.timestamp,
    coinbase: new Address(block.coinbase),
    gasLimit: block.gasLimit,
    baseFeePerGas: block.baseFee,
    mixHash: block.prevRandao,
  };
  return createBlock({ header }, { common: commonOf(block.chainId), skipConsensusFormatValidation: true });
}

function hashesOf(block: BlockEnvironment) {
  return {
    getBlock: async (number: number) => ({ hash: () => block.hashOf(number) }),
    putBlock: async () => {},
    shallowCopy() {
      return this;
    },
  };
}
