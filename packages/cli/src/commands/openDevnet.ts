import {
  createDevnet,
  DEVNET_CHAIN_ID,
  type Devnet,
  type DevnetOptions,
  InvalidChangeError,
  InvalidFaultsError,
  type ListeningAt,
  POOL_KINDS,
  type PoolKind,
  StateFolderError,
} from "@gas-waiver/devnet";
import type { CloseStack } from "../closeStack.js";
import { CommandFailedError } from "../errorMessage.js";
import { oneOf, text, wholeNumber } from "../settings/parsers.js";
import { UsageError } from "../settings/readSettings.js";

/** What every command that starts a chain can be told of it. */
export const CHAIN_SETTINGS = {
  blockTimeMs: {
    flag: "block-time",
    placeholder: "MS",
    help: "Milliseconds from block to block; 0: a block whenever there is something to run.",
    initial: "500",
    parse: wholeNumber(0, 2 ** 31 - 1),
  },
  stateDir: {
    flag: "state-dir",
    placeholder: "FOLDER",
    help: "Keep the chain in this folder, over restarts and crashes.",
    defaultText: "in memory",
    parse: text,
  },
  pool: {
    flag: "pool",
    placeholder: "KIND",
    help: "How the pool takes nonces: queued, as in geth, gaps wait; strict, as on CometBFT chains, gaps are refused.",
    initial: "queued",
    parse: (value: string): PoolKind => oneOf(...POOL_KINDS)(value),
  },
} as const;

export interface DevnetOpening {
  readonly host: string;
  readonly port: number;
  /** False: no block is made until somebody resumes mining. */
  readonly mining?: boolean;
  /** Closes the chain when the command ends. */
  readonly owned: CloseStack;
  readonly print: (line: string) => void;
}

/**
 * Makes the chain, opens its port, and says what it is.
 * @throws {@link UsageError} or {@link CommandFailedError} for what the chain says of its start, or the
 * system's error for a port that cannot be had.
 */
export async function openDevnet(options: DevnetOptions, opening: DevnetOpening): Promise<ListeningAt> {
  const { host, port, mining = true, owned, print } = opening;
  const devnet = owned.add(await create(options));
  if (!mining) await devnet.request({ method: "devnet_stopMining" });
  const at = await devnet.listen({ host, port });
  const { blockTimeMs = 0, pool, stateDir = "memory" } = options;
  const interval = blockTimeMs > 0 ? `a block every ${blockTimeMs} ms` : "blocks on demand";
  const pace = mining ? interval : "mining stopped";
  print(`chain    ${at.url}  id ${DEVNET_CHAIN_ID}, in ${stateDir}, ${pace}, ${pool} pool`);
  for (const line of restoredLines(devnet)) print(`         ${line}`);
  return at;
}

async function create(options: DevnetOptions): Promise<Devnet> {
  try {
    return await createDevnet(options);
  } catch (error) {
    if (error instanceof InvalidFaultsError) {
      throw new UsageError(error.problems.map((problem) => `--fault: ${problem}`));
    }
    if (error instanceof InvalidChangeError) throw new UsageError([`--fault: ${error.message}`]);
    if (error instanceof StateFolderError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}

function restoredLines({ restored }: Devnet): string[] {
  if (restored === undefined) return [];
  const { blocks, cutBytes } = restored;
  const lines = [`${blocks} earlier block(s) found in its folder`];
  if (cutBytes > 0) {
    lines.push(`${cutBytes} byte(s) of a block that nobody had been told of were cut off the end of its log`);
  }
  return lines;
}
