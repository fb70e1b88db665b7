import type { FileHandle } from "node:fs/promises";
import { CommandFailedError } from "../errorMessage.js";
import type { ExportFormat } from "./exportFormat.js";
import type { ExportTally } from "./exportTally.js";

const CHUNK_BYTES = 1 << 20;
const [LINE_FEED, QUOTE] = [10, 34];
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Reads an export that has not ended, and adds all of its complete records to the tally, whose `bytes` is then the place
 * where the export goes on. A record that was written in part is left out.
 * @throws {@link CommandFailedError} if the file is not an export in this format.
 */
export async function readExported(
  file: FileHandle,
  format: ExportFormat,
  tally: ExportTally,
  path: string,
): Promise<void> {
  const notAnExport = () => new CommandFailedError(`${path} is not an export in this format: remove it`);
  const header = Buffer.from(format.header);
  const start = await readAt(file, 0, header.length);
  // A start that was written in part begins anew.
  if (!header.subarray(0, start.length).equals(start)) throw notAnExport();
  if (start.length < header.length) return;
  tally.addBytes(header);
  for (;;) {
    // A record is shorter than a chunk: its longest member is a node's message.
    const chunk = await readAt(file, tally.bytes, CHUNK_BYTES);
    const ends = recordEnds(chunk, format.quotesLineFeeds);
    let from = 0;
    for (const end of ends) {
      const id = chunk.toString("latin1", from + format.beforeId.length, from + format.beforeId.length + 36);
      if (!ID.test(id) || (tally.lastId !== undefined && id <= tally.lastId)) throw notAnExport();
      tally.addRow(id);
      from = end;
    }
    tally.addBytes(chunk.subarray(0, from));
    if (chunk.length < CHUNK_BYTES) return;
    if (from === 0) throw notAnExport();
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** The places behind the records of a text that begins with one. */
function recordEnds(bytes: Buffer, quotesLineFeeds: boolean): number[] {
  const ends: number[] = [];
  let quotes = 0;
  let quoteAt = quotesLineFeeds ? bytes.indexOf(QUOTE) : -1;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    for (; quoteAt >= 0 && quoteAt < at; quoteAt = bytes.indexOf(QUOTE, quoteAt + 1)) quotes++;
    if (quotes % 2 === 0) ends.push(at + 1);
  }
  return ends;
}
