import type { Chain } from "../chain/chain.js";
import type { Miner } from "../chain/miner.js";
import { invalidParams } from "../rpc/errors.js";
import type { Method, Methods } from "../rpc/method.js";
import { boolean, optional, quantity, show } from "../rpc/params.js";
import { toQuantity } from "./format.js";

/** What one call makes at most: a block costs a tenth of a millisecond and a kilobyte. */
const MAX_BLOCKS = 100_000n;
const MAX_SECONDS = 2n ** 40n;
const MAX_INTERVAL_SECONDS = 2_000_000;

/** Making blocks, moving the clock, and snapshots, under the names of ganache, hardhat and anvil. */
export function miningMethods(chain: Chain, miner: Miner): Methods {
  return { ...blockMakingMethods(chain, miner), ...clockMethods(chain), ...snapshotMethods(chain) };
}

function blockMakingMethods(chain: Chain, miner: Miner): Methods {
  const mineMany: Method = async ([count, interval]) => {
    const blocks = optional(count, 1n, (value) => number(value, "the number of blocks", MAX_BLOCKS + 1n));
    const seconds = optional(interval, undefined, (value) => number(value, "the interval", MAX_SECONDS));
    for (let i = 0n; i < blocks; i++) {
      await pause(i);
      if (seconds !== undefined && i > 0n)
        chain.clock.setNext(chain.head.timestamp + seconds, chain.head.timestamp);
      await chain.mine();
    }
    return null;
  };
  const setAutomine: Method = ([on]) => {
    miner.setAutomine(boolean(on, "automine"));
    return true;
  };
  const setInterval: Method = ([seconds]) => {
    miner.setBlockTime(Math.round(readInterval(seconds) * 1_000));
    return true;
  };
  return {
    evm_mine: async ([options]) => {
      const { blocks, timestamp } = readMineOptions(options);
      if (timestamp !== undefined) chain.clock.setNext(timestamp, chain.head.timestamp);
      for (let i = 0n; i < blocks; i++) {
        await pause(i);
        await chain.mine();
      }
      // anvil and hardhat answer so too.
      return "0x0";
    },
    anvil_mine: mineMany,
    hardhat_mine: mineMany,
    evm_setAutomine: setAutomine,
    anvil_setAutomine: setAutomine,
    anvil_getAutomine: () => miner.automine && miner.blockTimeMs === 0,
    hardhat_getAutomine: () => miner.automine && miner.blockTimeMs === 0,
    evm_setIntervalMining: setInterval,
    anvil_setIntervalMining: setInterval,
    anvil_getIntervalMining: () => (miner.blockTimeMs === 0 ? null : miner.blockTimeMs / 1_000),
  };
}

function clockMethods(chain: Chain): Methods {
  const increase: Method = ([seconds]) => {
    const ahead = chain.clock.increase(number(seconds, "the seconds", MAX_SECONDS));
    return Number(ahead);
  };
  const setNext: Method = ([timestamp]) => {
    chain.clock.setNext(number(timestamp, "the timestamp", MAX_SECONDS), chain.head.timestamp);
    return null;
  };
  return {
    evm_increaseTime: increase,
    anvil_increaseTime: increase,
    evm_setNextBlockTimestamp: setNext,
    anvil_setNextBlockTimestamp: setNext,
    hardhat_setNextBlockTimestamp: setNext,
  };
}

function snapshotMethods(chain: Chain): Methods {
  const snapshot: Method = async () => toQuantity(await chain.snapshot());
  const revert: Method = ([id]) => chain.revert(Number(number(id, "the snapshot", 2n ** 53n)));
  return { evm_snapshot: snapshot, anvil_snapshot: snapshot, evm_revert: revert, anvil_revert: revert };
}

/** Many blocks let others be served in between. */
async function pause(made: bigint): Promise<void> {
  if (made % 32n === 31n) await new Promise((resolve) => setImmediate(resolve));
}

/** `evm_mine()`, `evm_mine(timestamp)`, or `evm_mine({ timestamp, blocks })`. */
function readMineOptions(options: unknown): { blocks: bigint; timestamp: bigint | undefined } {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) {
    const { blocks, timestamp } = options as { blocks?: unknown; timestamp?: unknown };
    return {
      blocks: optional(blocks, 1n, (value) => number(value, "blocks", MAX_BLOCKS + 1n)),
      timestamp: optional(timestamp, undefined, (value) => number(value, "timestamp", MAX_SECONDS)),
    };
  }
  return {
    blocks: 1n,
    timestamp: optional(options, undefined, (value) => number(value, "timestamp", MAX_SECONDS)),
  };
}

/** Tools send these as JSON numbers, as 0x hex, and as decimal text. */
function number(value: unknown, what: string, below: bigint): bigint {
  const plain = typeof value === "number" ? Number.isSafeInteger(value) && value >= 0 : isDecimal(value);
  if (!plain) return quantity(value, what, below);
  const read = BigInt(value as number | string);
  if (read >= below) throw invalidParams(`${what} is ${show(value)}, which is too large`);
  return read;
}

function isDecimal(value: unknown): value is string {
  return typeof value === "string" && /^[0-9]{1,20}$/.test(value);
}

function readInterval(value: unknown): number {
  const seconds = typeof value === "number" ? value : Number(number(value, "the interval", MAX_SECONDS));
  if (Number.isFinite(seconds) && seconds >= 0 && seconds <= MAX_INTERVAL_SECONDS) return seconds;
  throw invalidParams(`the interval is ${show(value)}, not seconds from 0 to ${MAX_INTERVAL_SECONDS}`);
}
