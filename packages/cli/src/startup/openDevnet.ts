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
  PROFILES,
  type Profile,
  StateFolderError,
} from "@gas-waiver/devnet";
import { STABLE } from "@gas-waiver/protocol";
import type { CloseStack } from "../closeStack.js";
import { CommandFailedError } from "../errorMessage.js";
import { entriesOf, oneOf, text, wholeNumber } from "../settings/parsers.js";
import { UsageError } from "../settings/readSettings.js";

/** The settings of the local chain, for every command that starts it. */
export const CHAIN_SETTINGS = {
  profile: {
    placeholder: "NAME",
    help: "The chain that the devnet is like: plain, or stable for the fees, methods, block time, token and contracts of the public chain (docs/devnet.md).",
    defaultValue: "plain",
    parse: (value: string): Profile => oneOf(...PROFILES)(value),
  },
  chainId: {
    placeholder: "ID",
    help: "Chain id, which transactions are signed for.",
    defaultText: String(DEVNET_CHAIN_ID),
    parse: (value: string) => BigInt(wholeNumber(1)(value)),
  },
  blockTimeMs: {
    flag: "block-time",
    placeholder: "MS",
    help: "Time between blocks, in ms; 0 makes a block whenever a transaction is ready.",
    defaultText: `500, or ${STABLE.blockTimeMs} with --profile stable`,
    parse: wholeNumber(0, 2 ** 31 - 1),
  },
  stateDir: {
    placeholder: "FOLDER",
    help: "Folder that keeps the chain across restarts and crashes.",
    defaultText: "in memory",
    parse: text,
  },
  allowedHosts: {
    placeholder: "NAMES",
    help: "Names that clients may call this machine by, separated by commas, besides localhost and numeric addresses.",
    defaultText: "none",
    parse: entriesOf,
  },
  allowedOrigins: {
    placeholder: "ORIGINS",
    help: "Origins whose pages may call the chain from a browser, separated by commas, besides those of this machine; or *.",
    defaultText: "none",
    parse: entriesOf,
  },
  pool: {
    placeholder: "KIND",
    help: "Nonce gaps in the pool: queued lets a later nonce wait, as geth does; strict refuses it, as CometBFT chains do.",
    defaultValue: "queued",
    parse: (value: string): PoolKind => oneOf(...POOL_KINDS)(value),
  },
} as const;

export interface OpenDevnet extends ListeningAt {
  readonly devnet: Devnet;
}

export interface DevnetOpening {
  readonly host: string;
  readonly port: number;
  /** If false, the chain makes no block until `devnet_resumeMining`. */
  readonly mining?: boolean;
  /** Closes the chain when the command ends. */
  readonly closeStack: CloseStack;
  readonly print: (line: string) => void;
}

/**
 * Starts the chain, listens on its port, and prints a summary of both.
 * @throws {@link UsageError} for wrong faults, {@link CommandFailedError} for an unusable state folder, or the system's
 * error for a port that cannot be opened.
 */
export async function openDevnet(options: DevnetOptions, opening: DevnetOpening): Promise<OpenDevnet> {
  const { host, port, mining = true, closeStack, print } = opening;
  const devnet = closeStack.add(await create(options));
  if (!mining) await devnet.request({ method: "devnet_stopMining" });
  const at = await devnet.listen({ host, port });
  const { blockTimeMs, pool, stateDir = "memory", chainId, profile } = devnet.options;
  const interval = blockTimeMs > 0 ? `a block every ${blockTimeMs} ms` : "blocks on demand";
  const like = profile === "plain" ? "" : `, profile ${profile}`;
  const pace = mining ? interval : "mining stopped";
  print(`chain    ${at.url}  id ${chainId}, in ${stateDir}, ${pace}, ${pool} pool${like}`);
  for (const line of restoredLines(devnet)) print(`         ${line}`);
  return { devnet, ...at };
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
    lines.push(`${cutBytes} byte(s) of an unannounced block were cut off the end of its log`);
  }
  return lines;
}
