import { median } from "../median.mjs";

/** The aim for a ratio, within the noise of a machine. */
const MAX_RATIO = 1.1;

/** Medians over the rounds of each round's median, and of the ratios within the rounds. */
export function figuresOf(runs) {
  const names = Object.keys(runs[0].empty);
  return Object.fromEntries(
    names.map((name) => {
      const of = (store) => runs.map((run) => median(run[store][name]));
      const [empty, full] = [of("empty"), of("full")];
      const ratios = full.map((ms, i) => ms / empty[i]);
      return [name, { empty: median(empty), full: median(full), ratio: median(ratios) }];
    }),
  );
}

export function printReport({
  node,
  cpu,
  cores,
  load,
  rows,
  rounds,
  fillSeconds,
  summarySeconds,
  megabytes,
  figures,
  ...once
}) {
  const whole = (value) => Math.round(value).toLocaleString("en");
  console.log(`\nnode ${node}, ${cores} cores, ${cpu}, load ${load.toFixed(1)}; ${rounds} rounds; medians`);
  console.log(
    `${whole(rows)} outcomes of 90 days, ${whole(megabytes)} MB, made in ${whole(fillSeconds)} s, of which ${whole(summarySeconds)} s for the summaries of its days\n`,
  );
  console.log(`${"ms".padEnd(26)}${"empty".padStart(9)}${"full".padStart(9)}${"ratio".padStart(8)}`);
  for (const [name, { empty, full, ratio }] of Object.entries(figures)) {
    const cells = [empty, full].map((ms) => ms.toFixed(2).padStart(9)).join("");
    const mark = ratio > MAX_RATIO ? "  above 1.1" : "";
    console.log(`${name.padEnd(26)}${cells}${ratio.toFixed(2).padStart(8)}${mark}`);
  }
  const { rows: exported, perSecond, seconds, bytes } = once.export;
  console.log(
    `\nexport of a day: ${whole(exported)} outcomes, ${whole(bytes / 1e6)} MB in ${seconds.toFixed(1)} s (${whole(perSecond)} a second, with the command's start)`,
  );
  for (const [name, { ms, before, during }] of Object.entries(once.drop)) {
    const cell = ({ median, max }) => `${median.toFixed(1)} and at most ${max.toFixed(1)} ms`;
    console.log(
      `dropping the oldest day of the ${name} store: ${whole(ms)} ms; a submit took ${cell(before)} before, ${cell(during)} meanwhile`,
    );
  }
}
