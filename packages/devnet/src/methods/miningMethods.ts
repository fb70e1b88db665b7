import { setImmediate } from "node:timers/promises";
import type { Chain } from "../chain/chain.js";
import type { GoBack } from "../chain/goBack.js";
import type { Miner } from "../chain/miner.js";
import { invalidParams } from "../rpc/errors.js";
import { inNamespaces, type Methods } from "../rpc/method.js";
import { boolean, optional, quantity, shortJson } from "../rpc/params.js";
import { toQuantity } from "./format.js";

/** The most blocks that one call makes. An empty block takes 0.1 ms and 1 KB. */
const MAX_BLOCKS = 100_000n;
const MAX_SECONDS = 2n ** 40n;
const MAX_INTERVAL_SECONDS = 2_000_000;

/** Making blocks, moving the clock, and snapshots, under the names of ganache, hardhat and anvil. */
export function miningMethods(chain: Chain, miner: Miner, goBack: GoBack): Methods {
  return { ...blockMakingMethods(chain, miner), ...clockMethods(chain), ...snapshotMethods(chain, goBack) };
}

function blockMakingMethods(chain: Chain, miner: Miner): Methods {
  return {
    evm_mine: ([options]) => mineBlocks(chain, options),
    ...inNamespaces(["anvil", "hardhat"], {
      mine: ([count, interval]) => mineMany(chain, count, interval),
      getAutomine: () => miner.automine && miner.blockTimeMs === 0,
    }),
    ...inNamespaces(["evm", "anvil"], {
      setAutomine: ([on]) => {
        miner.automine = boolean(on, "automine");
        return true;
      },
      setIntervalMining: ([seconds]) => {
        miner.blockTimeMs = Math.round(readInterval(seconds) * 1_000);
        return true;
      },
    }),
    anvil_getIntervalMining: () => (miner.blockTimeMs === 0 ? null : miner.blockTimeMs / 1_000),
  };
}

/** Serves evm_mine. */
async function mineBlocks(chain: Chain, options: unknown): Promise<string> {
  const { blocks, timestamp } = readMineOptions(options);
  if (timestamp !== undefined) chain.clock.setNextTimestamp(timestamp, chain.head.timestamp);
  for (let i = 0n; i < blocks; i++) {
    await yieldBetween(i);
    await chain.mine();
  }
  // Anvil and hardhat return "0x0" as well.
  return "0x0";
}

/** Serves anvil_mine and hardhat_mine. */
async function mineMany(chain: Chain, count: unknown, interval: unknown): Promise<null> {
  const blocks = optional(count, 1n, (value) => number(value, "the number of blocks", MAX_BLOCKS + 1n));
  const seconds = optional(interval, undefined, (value) => number(value, "the interval", MAX_SECONDS));
  for (let i = 0n; i < blocks; i++) {
    await yieldBetween(i);
    if (seconds !== undefined && i > 0n) {
      chain.clock.setNextTimestamp(chain.head.timestamp + seconds, chain.head.timestamp);
    }
    await chain.mine();
  }
  return null;
}

function clockMethods(chain: Chain): Methods {
  return {
    ...inNamespaces(["evm", "anvil"], {
      increaseTime: ([seconds]) => {
        const ahead = chain.clock.increase(number(seconds, "the seconds", MAX_SECONDS));
        return Number(ahead);
      },
    }),
    ...inNamespaces(["evm", "anvil", "hardhat"], {
      setNextBlockTimestamp: ([timestamp]) => {
        chain.clock.setNextTimestamp(number(timestamp, "the timestamp", MAX_SECONDS), chain.head.timestamp);
        return null;
      },
    }),
    anvil_setBlockTimestampInterval: ([seconds]) => {
      chain.clock.interval = number(seconds, "the interval", MAX_SECONDS);
      return null;
    },
    anvil_removeBlockTimestampInterval: () => {
      const had = chain.clock.interval !== undefined;
      chain.clock.interval = undefined;
      return had;
    },
  };
}

function snapshotMethods(chain: Chain, goBack: GoBack): Methods {
  return {
    ...inNamespaces(["evm", "anvil"], {
      snapshot: async () => toQuantity(await chain.snapshot()),
      revert: ([id]) => {
        const snapshot = Number(number(id, "the snapshot", 2n ** 53n));
        return goBack(() => chain.revert(snapshot));
      },
    }),
    ...inNamespaces(["anvil", "hardhat"], {
      reset: async ([options]) => {
        assertNoFork(options);
        return goBack(async () => {
          await chain.reset();
          return true;
        });
      },
    }),
  };
}

/** Refuses `{ forking: { jsonRpcUrl, … } }`. viem sends an empty `forking` for a reset to genesis. */
function assertNoFork(options: unknown): void {
  const { forking } = (options ?? {}) as { forking?: unknown };
  const members = typeof forking === "object" && forking !== null ? Object.values(forking) : [];
  if (members.every((value) => value === undefined || value === null)) return;
  throw invalidParams("the devnet cannot fork another chain: reset it without `forking`");
}

/** Yields to the event loop once in 32 blocks. */
async function yieldBetween(made: bigint): Promise<void> {
  if (made % 32n === 31n) await setImmediate();
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

/** Reads a number that tools send as a JSON number, as 0x hex, or as decimal text. */
function number(value: unknown, what: string, below: bigint): bigint {
  const plain = typeof value === "number" ? Number.isSafeInteger(value) && value >= 0 : isDecimal(value);
  if (!plain) return quantity(value, what, below);
  const read = BigInt(value as number | string);
  if (read >= below) throw invalidParams(`${what} is ${shortJson(value)}, which is too large`);
  return read;
}

function isDecimal(value: unknown): value is string {
  return typeof value === "string" && /^[0-9]{1,20}$/.test(value);
}

function readInterval(value: unknown): number {
  const seconds = typeof value === "number" ? value : Number(number(value, "the interval", MAX_SECONDS));
  if (Number.isFinite(seconds) && seconds >= 0 && seconds <= MAX_INTERVAL_SECONDS) return seconds;
  throw invalidParams(`the interval is ${shortJson(value)}, not seconds from 0 to ${MAX_INTERVAL_SECONDS}`);
}
