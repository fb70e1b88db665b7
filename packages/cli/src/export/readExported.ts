import type { FileHandle } from "node:fs/promises";
import { CommandFailedError } from "../errorMessage.js";
import type { ExportFormat } from "./exportFormat.js";
import type { ExportTally } from "./exportTally.js";

const CHUNK_BYTES = 1 << 20;
const START = /^(?:\{"id":")?([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})/;

/**
 * Reads an export that has not ended, and adds all of its complete records to the tally, whose `bytes` is then the place
 * where the export goes on. A record that was written in part is left out.
 * @throws {@link CommandFailedError} if the file is not an export in this format.
 */
export async function readExported(
  file: FileHandle,
  { header, pattern }: ExportFormat,
  tally: ExportTally,
  path: string,
): Promise<void> {
  const notAnExport = () => new CommandFailedError(`${path} is not an export in this format: remove it`);
  for (;;) {
    // A record is shorter than a chunk: its longest member is a node's message.
    const chunk = await readAt(file, tally.bytes, CHUNK_BYTES);
    const text = chunk.toString("latin1");
    let end = 0;
    if (tally.bytes === 0) {
      // A header that was written in part begins anew.
      if (!header.startsWith(text.slice(0, header.length))) throw notAnExport();
      if (text.length < header.length) return;
      end = header.length;
    }
    for (pattern.lastIndex = end; pattern.test(text); end = pattern.lastIndex) {
      const [, id = ""] = START.exec(text.slice(end, end + 50)) ?? [];
      if (id <= (tally.lastId ?? "")) throw notAnExport();
      tally.addRow(id);
    }
    tally.addBytes(chunk.subarray(0, end));
    if (chunk.length < CHUNK_BYTES) return;
    if (end === 0) throw notAnExport();
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
