import { median } from "../median.mjs";

/** The most by which a figure may grow from the first third of the minutes to the last. */
export const MAX_GROWTH = { rssMb: 1.15, p50: 1.25, p99: 1.5 };
/** A growth of fewer ms is no growth: it is within the noise of a machine. */
const NOISE_MS = 2;

/**
 * Compares the medians of the last third of the minutes with those of the first third, without the warm-up minutes.
 * @param {{ rssMb: number, p50: number, p99: number }[]} minutes
 */
export function flatnessOf(minutes, warmUpMinutes) {
  const settled = minutes.slice(Math.min(warmUpMinutes, minutes.length - 2));
  const third = Math.max(1, Math.floor(settled.length / 3));
  return Object.entries(MAX_GROWTH).map(([name, most]) => {
    const of = (part) => median(part.map((minute) => minute[name]));
    const [first, last] = [of(settled.slice(0, third)), of(settled.slice(-third))];
    const noise = name === "rssMb" ? 0 : NOISE_MS;
    return { name, first, last, growth: last / first, most, isFlat: last <= first * most + noise };
  });
}
