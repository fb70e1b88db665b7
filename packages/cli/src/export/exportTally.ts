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

const EVERY_MS = 500;

/** Shows how far an export is, on a terminal. */
export function exportProgress(show: ((line: string) => void) | undefined, tally: ExportTally) {
  const startedAt = performance.now();
  const earlierRows = tally.rows;
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    update(): void {
      const now = performance.now();
      if (show === undefined || now - shownAt < EVERY_MS) return;
      shownAt = now;
      const { rows, bytes, rowsByDay } = tally;
      const perSecond = Math.round(((rows - earlierRows) * 1_000) / Math.max(1, now - startedAt));
      const day = Object.keys(rowsByDay).at(-1) ?? "";
      const size = `${(bytes / 1e6).toFixed(1)} MB`;
      show(
        `${day}  ${rows.toLocaleString("en")} outcomes, ${size}, ${perSecond.toLocaleString("en")} a second`,
      );
    },
    /** Removes the line. */
    end(): void {
      show?.("");
    },
  };
}
