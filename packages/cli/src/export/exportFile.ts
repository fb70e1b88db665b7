import { access, type FileHandle, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandFailedError } from "../errorMessage.js";
import { VERSION } from "../version.js";
import { EXPORT_FORMATS, type ExportFormat, type ExportFormatName } from "./exportFormat.js";
import { ExportTally } from "./exportTally.js";

/** The settings that decide every byte of an export. */
export interface ExportPlan {
  readonly from: string;
  readonly to: string;
  readonly format: ExportFormatName;
}

/** The file beside an export, which says whether it is complete. */
export interface ExportManifest extends ExportPlan {
  readonly complete: boolean;
  readonly version?: string;
  readonly completedAt?: string;
  readonly rows?: number;
  readonly bytes?: number;
  /** Checksum of the whole file as hex. */
  readonly sha256?: string;
  /** The number of outcomes of each day that has some. */
  readonly days?: Readonly<Record<string, number>>;
}

export type ExportFile = Awaited<ReturnType<typeof openExportFile>>;

/**
 * Opens a file of exported outcomes: a new one, or, to resume, the one of an export that has not ended. Until it is complete it
 * has the name `<path>.part`, and goes on from its last complete record. The manifest is durable before the file gets its own
 * name, so a file under that name is complete.
 * @throws {@link CommandFailedError} if a file is there that the export would have to overwrite, or one of another export.
 */
export async function openExportFile(path: string, plan: ExportPlan, { resume }: { resume: boolean }) {
  const part = partOf(path);
  const hasPart = await exists(part);
  if (hasPart && !resume)
    throw new CommandFailedError(`${part} is an export that has not ended: give --resume, or remove it`);
  if (hasPart) await readManifest(path, plan);
  else await writeManifest(path, { complete: false, ...plan });
  const file = await open(part, hasPart ? "a+" : "ax+", 0o600);
  const tally = new ExportTally();
  const write = async (ids: readonly string[], text: string) => {
    const bytes = Buffer.from(text);
    await file.appendFile(bytes);
    for (const id of ids) tally.addRow(id);
    tally.addBytes(bytes);
  };
  try {
    const format: ExportFormat = EXPORT_FORMATS[plan.format];
    await readExported(file, format, tally, part);
    // Cuts a record that was written in part.
    await file.truncate(tally.bytes);
    if (tally.bytes === 0) await write([], format.header);
  } catch (error) {
    await file.close();
    throw error;
  }
  return {
    tally,
    write,
    /** Makes the export durable and gives it its own name. */
    async complete(): Promise<ExportManifest> {
      const { rows, bytes, rowsByDay } = tally;
      await file.sync();
      const manifest: ExportManifest = {
        ...{ complete: true, version: VERSION, completedAt: new Date().toISOString(), ...plan },
        ...{ rows, bytes, sha256: tally.sha256(), days: rowsByDay },
      };
      await writeManifest(path, manifest);
      await rename(part, path);
      await syncFolderOf(path);
      return manifest;
    },
    close: () => file.close(),
  };
}

/**
 * Reads the manifest of an export that has ended, if there is one under this path.
 * @throws {@link CommandFailedError} if the file is another one.
 */
export async function completedExport(path: string, plan: ExportPlan): Promise<ExportManifest | undefined> {
  if (!(await exists(path))) return undefined;
  const manifest = await readManifest(path, plan);
  if (manifest.complete && (await stat(path)).size === manifest.bytes) return manifest;
  throw new CommandFailedError(`${path} is there already, and is not the file of its manifest`);
}

async function readManifest(path: string, plan: ExportPlan): Promise<ExportManifest> {
  const file = manifestOf(path);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const manifest = parseManifest(text);
  if (manifest === undefined) {
    throw new CommandFailedError(`${path} belongs to no export: ${file} is not its manifest`);
  }
  const { from, to, format } = manifest;
  if (from === plan.from && to === plan.to && format === plan.format) return manifest;
  throw new CommandFailedError(
    `${path} belongs to another export: --from ${from} --to ${to} --format ${format}`,
  );
}

function parseManifest(text: string): ExportManifest | undefined {
  try {
    const manifest = JSON.parse(text) as ExportManifest | null;
    return typeof manifest?.complete === "boolean" ? manifest : undefined;
  } catch {
    return undefined;
  }
}

const partOf = (path: string) => `${path}.part`;
const manifestOf = (path: string) => `${path}.manifest.json`;

async function writeManifest(path: string, manifest: ExportManifest): Promise<void> {
  const file = manifestOf(path);
  const content = `${JSON.stringify(manifest, undefined, 2)}\n`;
  // In a folder of everybody, such as /tmp, another user may have put a link there.
  await rm(`${file}.new`, { force: true });
  await writeFile(`${file}.new`, content, { mode: 0o600, flag: "wx", flush: true });
  await rename(`${file}.new`, file);
  await syncFolderOf(path);
}

/** Makes the names of the folder's files durable. */
async function syncFolderOf(path: string): Promise<void> {
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

const CHUNK_BYTES = 1 << 20;
const START = /^(?:\{"id":")?([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})/;

/**
 * Reads an export that has not ended, and adds all of its complete records to the tally, whose `bytes` is then the place
 * where the export goes on. A record that was written in part is left out.
 * @throws {@link CommandFailedError} if the file is not an export in this format.
 */
async function readExported(
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
