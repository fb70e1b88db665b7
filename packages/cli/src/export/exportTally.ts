import { createHash } from "node:crypto";

const DAY_MS = 86_400_000;

/** The days, size and checksum of the records of an export, whether they are written or read again. */
export class ExportTally {
  readonly #hash = createHash("sha256");
  readonly #rowsByDay = new Map<string, number>();
  #day = "";
  /** The beginning of the ids of the next day: a UUIDv7 begins with its time in ms. */
  #nextDay = "";
  bytes = 0;
  rows = 0;
  lastId: string | undefined;

  /** Counts a record. Its bytes are added apart, by {@link addBytes}. */
  addRow(id: string): void {
    if (id >= this.#nextDay) this.#startDayOf(id);
    this.#rowsByDay.set(this.#day, (this.#rowsByDay.get(this.#day) ?? 0) + 1);
    this.rows++;
    this.lastId = id;
  }

  addBytes(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.bytes += bytes.length;
  }

  get rowsByDay(): ReadonlyMap<string, number> {
    return this.#rowsByDay;
  }

  /** The checksum of all bytes as hex. Nothing can be added after it. */
  sha256(): string {
    return this.#hash.digest("hex");
  }

  #startDayOf(id: string): void {
    const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    const day = Math.floor(time / DAY_MS);
    this.#day = new Date(day * DAY_MS).toISOString().slice(0, 10);
    const next = ((day + 1) * DAY_MS).toString(16).padStart(12, "0");
    this.#nextDay = `${next.slice(0, 8)}-${next.slice(8)}`;
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
      const day = [...rowsByDay.keys()].at(-1) ?? "";
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
