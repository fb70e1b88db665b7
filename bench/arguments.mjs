import { parseArgs } from "node:util";

/**
 * Reads the options of a benchmark. Every benchmark also takes `--json FILE` and `--help`.
 * @param {Record<string, { initial: string, least?: number, most?: number, among?: readonly string[] }>} known
 * the options by name: a whole number with its bounds, or a comma-separated list with the names it may have.
 * @throws Error with one line for each problem.
 */
export function readArguments(argv, known) {
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { initial }]) => [name, { type: "string", default: initial }]),
  );
  const { values } = parseArgs({
    args: argv,
    options: { ...options, json: { type: "string" }, help: { type: "boolean", default: false } },
  });
  const problems = [];
  if (values.json === "") problems.push("--json needs the name of a file");
  for (const [name, { least, most, among }] of Object.entries(known)) {
    const text = values[name];
    if (among !== undefined) {
      values[name] = text.split(",");
      const strange = values[name].filter((one) => !among.includes(one));
      if (strange.length > 0) problems.push(`--${name} has "${strange}"; there are ${among.join(", ")}`);
      continue;
    }
    values[name] = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(values[name] >= least && values[name] <= most)) {
      problems.push(`--${name} is "${text}", not an integer from ${least} to ${most}`);
    }
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return values;
}
