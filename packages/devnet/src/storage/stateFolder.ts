import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { bytesToHex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { Journal, JournalEntry } from "../chain/journal.js";
import { KeptChainError } from "../chain/restore.js";
import type { RestoredChain } from "../reports.js";
import type { StateChanges } from "../state/overlay.js";
import type { StateMark } from "../state/world.js";
import {
  decodeEntry,
  decodeGenesis,
  decodeRollBack,
  encodeBlock,
  encodeGenesis,
  encodePatch,
  encodeRollBack,
  KIND,
} from "./codec.js";
import { lockFolder } from "./folderLock.js";
import { DamagedLogError, frame, RecordLog, type RecordPlace } from "./recordLog.js";
import { StateFolderError } from "./stateFolderError.js";

const LOG_FILE = "chain.log";
const FORMAT = 1;
/** The first line of the log, which people and other programs can read. */
const TITLE = `gas-waiver chain log ${FORMAT}\n`;

/**
 * Keeps a chain in a folder. `chain.log` has every block and every state patch, each synced before it is announced.
 * `lock` names the process that uses the folder.
 */
export class StateFolder implements Journal {
  readonly folder: string;
  readonly #chainId: bigint;
  readonly #unlock: () => void;
  #log: RecordLog | undefined;
  /** The records of blocks and patches in force that {@link entries} has not read yet. */
  #places: RecordPlace[] = [];
  #restored: RestoredChain = { blocks: 0, cutBytes: 0 };

  /**
   * Creates the folder if it is missing, and locks it.
   * @throws {@link StateFolderError}
   */
  constructor(folder: string, chainId: bigint) {
    this.#chainId = chainId;
    try {
      mkdirSync(folder, { recursive: true });
      this.folder = realpathSync(folder);
      this.#unlock = lockFolder(this.folder);
    } catch (error) {
      throw explained(folder, error);
    }
  }

  get restored(): RestoredChain {
    return this.#restored;
  }

  open(genesis: SealedBlock): SealedBlock {
    try {
      return this.#open(genesis);
    } catch (error) {
      this.close();
      throw explained(this.folder, error);
    }
  }

  *entries(): Iterable<JournalEntry> {
    for (const place of this.#places.splice(0)) yield decodeEntry(this.#opened.read(place));
  }

  block(block: SealedBlock, changes: StateChanges): void {
    this.#append(encodeBlock(block, changes));
  }

  patch(changes: StateChanges): void {
    this.#append(encodePatch(changes));
  }

  rollBack({ position }: StateMark): void {
    this.#append(encodeRollBack(position));
  }

  /** Turns an error about the folder's content, or of the system, into a {@link StateFolderError}. */
  explain(error: unknown): unknown {
    return explained(this.folder, error);
  }

  /** Closes the log and releases the lock. */
  close(): void {
    this.#log?.close();
    this.#log = undefined;
    this.#unlock();
  }

  get #opened(): RecordLog {
    if (this.#log === undefined) throw new StateFolderError(this.folder, "is closed");
    return this.#log;
  }

  #append(payload: Uint8Array): void {
    try {
      this.#opened.append(payload);
    } catch (error) {
      throw explained(this.folder, error);
    }
  }

  #open(genesis: SealedBlock): SealedBlock {
    const path = join(this.folder, LOG_FILE);
    if (!existsSync(path)) createLog(this.folder, path, this.#chainId, genesis);
    assertFormat(this.folder, path);
    this.#log = new RecordLog(path, TITLE.length);
    let storedGenesis: SealedBlock | undefined;
    let blocks = 0;
    const isBlock: boolean[] = [];
    const cutBytes = this.#log.scan((place, payload) => {
      const kind = payload[0];
      if (storedGenesis === undefined) storedGenesis = this.#genesisOf(payload, genesis);
      else if (kind === KIND.rollBack) {
        const position = decodeRollBack(payload);
        blocks -= isBlock.splice(position).filter(Boolean).length;
        this.#places.length = position;
      } else {
        this.#places.push(place);
        isBlock.push(kind === KIND.block);
        if (kind === KIND.block) blocks += 1;
      }
    });
    if (storedGenesis === undefined)
      throw new StateFolderError(this.folder, `holds no genesis in ${LOG_FILE}`);
    this.#restored = { blocks, cutBytes };
    return storedGenesis;
  }

  /** The genesis in the log. Its state must be this version's; its time and gas limit may differ. */
  #genesisOf(payload: Uint8Array, own: SealedBlock): SealedBlock {
    const { chainId, genesis } = decodeGenesis(payload);
    if (chainId !== this.#chainId) {
      throw new StateFolderError(this.folder, `holds chain ${chainId}, and this is chain ${this.#chainId}`);
    }
    const [storedRoot, expectedRoot] = [genesis, own].map(({ header }) => bytesToHex(header.stateRoot));
    if (storedRoot === expectedRoot) return genesis;
    throw new StateFolderError(
      this.folder,
      `holds a chain with another genesis (state root ${storedRoot}, this version's is ${expectedRoot}); name another folder, or go on with the version that made it`,
    );
  }
}

/** Writes the start of the log under another name and renames it, so that the log never exists incomplete. */
function createLog(folder: string, path: string, chainId: bigint, genesis: SealedBlock): void {
  const draft = `${path}.new`;
  const beginning = Buffer.concat([Buffer.from(TITLE), frame(encodeGenesis(chainId, genesis))]);
  writeFileSync(draft, beginning, { flush: true });
  renameSync(draft, path);
  sync(folder);
}

function sync(folder: string): void {
  // Windows cannot sync a folder.
  if (process.platform === "win32") return;
  const fd = openSync(folder, "r");
  fsyncSync(fd);
  closeSync(fd);
}

function assertFormat(folder: string, path: string): void {
  const start = Buffer.alloc(64);
  const fd = openSync(path, "r");
  const length = readSync(fd, start);
  closeSync(fd);
  const [, format] = /^gas-waiver chain log (\d+)\n/.exec(start.toString("latin1", 0, length)) ?? [];
  if (format === undefined) throw new StateFolderError(folder, `has a ${LOG_FILE} that is not a chain log`);
  if (Number(format) === FORMAT) return;
  throw new StateFolderError(
    folder,
    `is written in format ${format}, and this version reads format ${FORMAT}; name another folder, or use the version that made it`,
  );
}

const SYSTEM_PROBLEMS: Readonly<Record<string, string>> = {
  EEXIST: "is not a folder",
  ENOTDIR: "is not a folder",
  EACCES: "may not be written by this user",
  EPERM: "may not be written by this user",
  EISDIR: `has a ${LOG_FILE} that is not a chain log`,
  EROFS: "is on a file system that is read-only",
  ENOSPC: "is on a disk that is full",
  EDQUOT: "is on a disk that is full",
};

function explained(folder: string, error: unknown): unknown {
  if (error instanceof StateFolderError) return error;
  if (error instanceof DamagedLogError) {
    return new StateFolderError(
      folder,
      `is damaged: in ${LOG_FILE}, ${error.message}; blocks that were announced would be lost, so nothing was changed`,
      { cause: error },
    );
  }
  if (error instanceof KeptChainError) {
    return new StateFolderError(folder, `does not hold a whole chain: ${error.message}`, { cause: error });
  }
  const { code = "" } = error as NodeJS.ErrnoException;
  const problem = SYSTEM_PROBLEMS[code];
  return problem === undefined ? error : new StateFolderError(folder, problem, { cause: error });
}
