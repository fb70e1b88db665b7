/** The parts of the SDK that need Node. */
import { constants } from "node:fs";
import { type FileHandle, link, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Journal } from "./bulk/journal.js";
import { JournalError } from "./errors.js";

export type { Journal } from "./bulk/journal.js";

/**
 * The journal of `submitAll` in a file, readable for its owner only. The signed bytes are on the disk, file and name, before
 * anything is sent, and the outcomes of a request when it ends. A kill or a power cut leaves a file that the next call goes on
 * with, whose last line may be cut short. Of two programs that begin one journal at the same time, one fails with a JournalError,
 * and so does a relay whose journal another relay has opened: what each has signed could pay.
 * @param path of the file. One that is no journal is refused, and never written over.
 * @example
 * ```ts
 * import { createWaiverClient } from "@gas-waiver/client";
 * import { fileJournal } from "@gas-waiver/client/node";
 *
 * const client = createWaiverClient({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * await client.submitAll([signedTransaction], { journal: fileJournal("airdrop.journal") });
 * ```
 */
export function fileJournal(path: string): Journal {
  let isNew = false;
  /** The first line of the file that this program has begun. Another program may have begun a file in its place. */
  let head: string | undefined;
  return {
    async read() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw new JournalError(`${path} cannot be read: ${error.message}`, { cause: error });
      });
      isNew = text === undefined;
      return text;
    },
    async begin(text) {
      const part = `${path}.${crypto.randomUUID()}.part`;
      try {
        await writeDurably(part, CREATE, text);
        await (isNew ? moveToFree : rename)(part, path);
      } catch (cause) {
        if (cause instanceof JournalError) throw cause;
        throw new JournalError(`${path} cannot be written: ${(cause as Error).message}`, { cause });
      } finally {
        await rm(part, { force: true });
      }
      await syncFolder(dirname(path));
      head = text.slice(0, text.indexOf("\n") + 1);
    },
    append: (lines) => writeDurably(path, APPEND, lines, head),
  };
}

/** @throws JournalError if there is a file by now. */
async function moveToFree(part: string, path: string): Promise<void> {
  await link(part, path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") return await rename(part, path); // a file system without links
    throw new JournalError(`another program has begun ${path} meanwhile: start again to go on with it`);
  });
}

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
const APPEND = constants.O_RDWR | constants.O_APPEND;

/** @param head of the file, if another one may not be written. @throws JournalError for such a one. */
async function writeDurably(path: string, flags: number, text: string, head?: string): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    if (head !== undefined && !(await beginsWith(file, head)))
      throw new JournalError(`another program has begun ${path} anew, and goes on with it`);
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Its inode would not tell, since the next file may get that of a file that was replaced. */
async function beginsWith(file: FileHandle, head: string): Promise<boolean> {
  const { length } = Buffer.from(head);
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, 0);
  return buffer.toString() === head;
}

/** Makes the name of a new file durable. Windows cannot open folders, and needs no such thing. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => undefined);
  try {
    await folder?.sync();
  } catch {
    // Some file systems cannot.
  } finally {
    await folder?.close();
  }
}
