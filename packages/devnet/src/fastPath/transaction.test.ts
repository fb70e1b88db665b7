import {
  bytesToHex,
  type Hex,
  hexToBytes,
  type SignedTransaction,
  signTransaction,
} from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { RandomProgram } from "../../test/support/randomPrograms.js";
import { addressOf, key, signInner } from "../../test/support/testNode.js";
import { chainTransaction, runnable } from "../block/transaction.js";
import { type BlockEnvironment, ethereumJsExecutor, type Outcome } from "../evm/executor.js";
import { SeededRandom } from "../faults/seededRandom.js";
import { DEVNET_CHAIN_ID } from "../presets/constants.js";
import { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT } from "../state/reader.js";
import { WorldState } from "../state/world.js";
import { runTransaction } from "./transaction.js";

// Runs the same transactions on the fast path and in EthereumJS, and compares results and states.

/** A longer search takes 0.6 ms a run: FAST_PATH_RUNS=100000. */
const RUNS = Number(process.env.FAST_PATH_RUNS ?? 300);
const SENDER = 13;
const CONTRACT: Hex = `0x${"c0de".padStart(40, "1")}`;
const UNUSED: Hex = `0x${"aa".repeat(20)}`;

class Scenario {
  readonly #random: SeededRandom;
  readonly #nonce: bigint;
  readonly code: Uint8Array;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed, 0);
    this.#nonce = BigInt(this.#random.below(3));
    this.code = new RandomProgram(this.#random).make(this.#random.below(30));
  }

  /** A state with the sender and the contract. */
  state(): Overlay {
    const state = new Overlay(new WorldState(0));
    state.setAccount(addressOf(SENDER), { ...EMPTY_ACCOUNT, nonce: this.#nonce, balance: 10n ** 18n });
    state.setAccount(CONTRACT, { ...EMPTY_ACCOUNT, nonce: 1n, balance: 5n });
    state.setCode(CONTRACT, this.code);
    state.setSlot(CONTRACT, slot(1n), Uint8Array.of(1));
    state.setSlot(
      CONTRACT,
      slot(2n),
      Uint8Array.from({ length: 32 }, () => 0xff),
    );
    return state;
  }

  /** Usually valid: in one of forty the nonce is wrong, and in some the gas does not suffice. */
  transaction(): SignedTransaction {
    const random = this.#random;
    const pick = <T>(items: readonly T[]) => items[random.below(items.length)] as T;
    const to = pick([CONTRACT, CONTRACT, CONTRACT, CONTRACT, CONTRACT, UNUSED, addressOf(SENDER)]);
    const fields = {
      chainId: DEVNET_CHAIN_ID,
      nonce: this.#nonce + (random.below(40) === 0 ? 1n : 0n),
      gasLimit: pick([...Array<bigint>(8).fill(600_000n), 60_000n, 30_000n, 21_000n]),
      to: hexToBytes(to),
      value: pick([0n, 0n, 1n, 10n ** 17n, random.below(20) === 0 ? 10n ** 19n : 2n]),
      data: Uint8Array.from({ length: random.below(100) }, () => Math.max(0, random.below(512) - 256)),
    };
    const gasPrice = pick([0n, 10n ** 9n]);
    const storageKeys = [hexToBytes(slot(pick([0n, 1n]))), hexToBytes(slot(2n))];
    const accessList = pick([[], [{ address: hexToBytes(pick([CONTRACT, UNUSED])), storageKeys }]]);
    const fees = { maxPriorityFeePerGas: pick([0n, gasPrice]), maxFeePerGas: gasPrice };
    return signTransaction(
      pick([
        { ...fields, type: "legacy" as const, gasPrice },
        { ...fields, type: "eip2930" as const, gasPrice, accessList },
        { ...fields, type: "eip1559" as const, ...fees, accessList },
      ]),
      key(SENDER),
    );
  }

  block(): BlockEnvironment {
    const coinbases = [addressOf(20), addressOf(20), addressOf(SENDER), CONTRACT];
    return {
      number: 7n,
      timestamp: 1_800_000_000n,
      coinbase: hexToBytes(coinbases[this.#random.below(coinbases.length)] ?? CONTRACT),
      gasLimit: 1_000_000_000n,
      prevRandao: hexToBytes(slot(77n)),
      ...{ chainId: DEVNET_CHAIN_ID, baseFee: 0n },
      hashOf: () => new Uint8Array(32),
    };
  }
}

function slot(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, "0")}`;
}

/** The accounts and slots, without those that only say that nothing is there. */
function contentOf({ changes }: Overlay) {
  const accounts = [...changes.accounts].filter(([, record]) => record !== undefined);
  const slots = [...changes.slots].flatMap(([address, values]) =>
    [...values]
      .filter(([, value]) => value.length > 0)
      .map(([name, value]) => [`${address} ${name}`, bytesToHex(value)]),
  );
  return { accounts: Object.fromEntries(accounts), slots: Object.fromEntries(slots) };
}

function plain({ logs, returnData, ...rest }: Outcome) {
  const plainLogs = logs.map(({ address, topics, data }) => [address, ...topics, data].map(bytesToHex));
  return { ...rest, logs: plainLogs, returnData: bytesToHex(returnData) };
}

it("gives the outcome and the state of EthereumJS for random code, or leaves the transaction to it unchanged", async () => {
  const counts = { fast: 0, reverted: 0, left: 0 };
  for (let seed = 1; seed <= RUNS; seed++) {
    const scenario = new Scenario(seed);
    const [fastState, otherState] = [scenario.state(), scenario.state()];
    const signed = scenario.transaction();
    const block = scenario.block();
    const { executable } = runnable(chainTransaction(signed.raw, hexToBytes(addressOf(SENDER))), signed);
    const before = contentOf(fastState);
    const outcome = runTransaction(executable, fastState, block);
    if (outcome === undefined) {
      expect(contentOf(fastState), `seed ${seed}`).toEqual(before);
      counts.left++;
      continue;
    }
    const execution = await ethereumJsExecutor.open(otherState, block);
    const expected = await execution.transaction(executable);
    expect(plain(outcome), `seed ${seed}`).toEqual(plain(expected));
    expect(contentOf(fastState), `seed ${seed}`).toEqual(contentOf(otherState));
    if (outcome.status === 0) counts.reverted++;
    else counts.fast++;
  }
  expect(counts.fast).toBeGreaterThan(RUNS * 0.5);
  expect(counts.reverted).toBeGreaterThan(RUNS * 0.05);
  expect(counts.left).toBeGreaterThan(RUNS * 0.05);
});

it("leaves a call of more than a million instructions to EthereumJS", () => {
  const state = new Overlay(new WorldState(0));
  state.setAccount(addressOf(SENDER), { ...EMPTY_ACCOUNT, balance: 10n ** 18n });
  state.setCode(CONTRACT, hexToBytes("0x5b600056"));
  const signed = signInner(SENDER, { to: hexToBytes(CONTRACT), gasLimit: 500_000_000n });
  const { executable } = runnable(chainTransaction(signed.raw, hexToBytes(addressOf(SENDER))), signed);
  expect(runTransaction(executable, state, new Scenario(1).block())).toBeUndefined();
});
