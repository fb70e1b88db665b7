import { parseArgs } from "node:util";

/**
 * Reads the options of a program, which also takes `--json FILE` and `--help`.
 * @param {readonly string[]} argv
 * @param {Record<string, { initial: string, least?: number, most?: number, among?: readonly string[] }>} known
 * the options by name: a whole number with its bounds, a comma-separated list with the names it may have, or a text.
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
  const problems = values.json === "" ? ["--json needs the name of a file"] : [];
  for (const [name, bounds] of Object.entries(known)) {
    const { value, problem } = readOne(name, values[name], bounds);
    values[name] = value;
    if (problem !== undefined) problems.push(problem);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return values;
}

function readOne(name, text, { least, most, among }) {
  if (among !== undefined) {
    const value = text.split(",");
    const unknown = value.filter((one) => !among.includes(one));
    const problem = `--${name} is "${text}", and has "${unknown}"; there are ${among.join(", ")}`;
    return unknown.length > 0 ? { value, problem } : { value };
  }
  if (least === undefined) return { value: text };
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return { value };
  return { value, problem: `--${name} is "${text}", not a whole number from ${least} to ${most}` };
}
