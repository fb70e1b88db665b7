import { createHash } from "node:crypto";

const DAY_MS = 86_400_000;

/** The days, size and checksum of the records of an export, whether they are written or read again. */
export class ExportTally {
  readonly #hash = createHash("sha256");
  /** By the number of the day since 1970. */
  readonly #rowsByDay = new Map<number, number>();
  bytes = 0;
  rows = 0;
  lastId: string | undefined;

  /** Counts a record. Its bytes are added apart, by {@link addBytes}. */
  addRow(id: string): void {
    // A UUIDv7 begins with its time in ms.
    const day = Math.floor(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) / DAY_MS);
    this.#rowsByDay.set(day, (this.#rowsByDay.get(day) ?? 0) + 1);
    this.rows++;
    this.lastId = id;
  }

  addBytes(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.bytes += bytes.length;
  }

  get rowsByDay(): Readonly<Record<string, number>> {
    const days = [...this.#rowsByDay].map(([day, rows]) => [
      new Date(day * DAY_MS).toISOString().slice(0, 10),
      rows,
    ]);
    return Object.fromEntries(days);
  }

  /** The checksum of all bytes as hex. Nothing can be added after it. */
  sha256(): string {
    return this.#hash.digest("hex");
  }
}

/** The line of a terminal for this state of an export. */
export function exportLine({ rows, bytes, rowsByDay }: ExportTally, perSecond: number): string {
  const day = Object.keys(rowsByDay).at(-1) ?? "";
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const speed = `${Math.round(perSecond).toLocaleString("en")} a second`;
  return `${day}  ${rows.toLocaleString("en")} outcomes, ${size}, ${speed}`;
}
