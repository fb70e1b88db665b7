import type { SubmitAllProgress } from "@gas-waiver/client";

const EVERY_MS = 200;
const BAR_WIDTH = 24;

/** Shows the progress of `gas-waiver submit` on a terminal: a bar, the counts, the speed and the rest. */
export function submitProgress(show: ((line: string) => void) | undefined) {
  const startedAt = performance.now();
  let shownAt = Number.NEGATIVE_INFINITY;
  let earlier: number | undefined;
  return {
    update(progress: SubmitAllProgress): void {
      const { total, succeeded, failed } = progress;
      const done = succeeded + failed;
      // The outcomes of earlier runs say nothing of the speed of this one.
      earlier ??= done;
      const now = performance.now();
      if (show === undefined || (done < total && now - shownAt < EVERY_MS)) return;
      shownAt = now;
      const perSecond = ((done - earlier) * 1_000) / Math.max(1, now - startedAt);
      show(progressLine(progress, perSecond));
    },
    /** Removes the line. */
    end(): void {
      show?.("");
    },
  };
}

/** The line of a terminal for this state. */
export function progressLine(progress: SubmitAllProgress, perSecond: number): string {
  const { total, succeeded, failed, rateRefusals } = progress;
  const done = succeeded + failed;
  const filled = total === 0 ? BAR_WIDTH : Math.floor((done / total) * BAR_WIDTH);
  const bar = `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}]`;
  const counts = `${count(done)} of ${count(total)}${failed > 0 ? `, ${count(failed)} failed` : ""}`;
  const rest =
    perSecond > 0 && done < total ? `, ${count(Math.ceil((total - done) / perSecond))} s left` : "";
  const slowed = rateRefusals > 0 ? `; the key's rate was used up ${count(rateRefusals)} time(s)` : "";
  return `${bar} ${counts}, ${count(Math.round(perSecond))} a second${rest}${slowed}`;
}

export const count = (number: number) => number.toLocaleString("en");
