import type { SubmitAllProgress } from "@gas-waiver/client";

const BAR_WIDTH = 24;

/** The line of a terminal for this state of a submit: a bar, the counts, the speed and the rest. */
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
