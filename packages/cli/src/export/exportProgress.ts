import type { ExportTally } from "./exportTally.js";

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
