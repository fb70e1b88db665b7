// npm run mutate: changes a pure file one operator at a time, and runs the tests beside the file on each change.
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { mutantsOf } from "./mutants.mjs";
import { runMain } from "./runMain.mjs";
import { root } from "./setup.mjs";

const USAGE = `Usage: npm run mutate -- [--tests FILE,…] [--line N] [FILE…]

Changes one operator, condition, constant or call of a source file at a time, and runs the
tests beside the file: those in its folder that have its name or import it, without those that
use a database. A change that no
test notices is a survivor, and is printed. The file on the disk stays as it is.

  FILE           source files                  (default: those of scripts/pureFiles.json)
  --tests FILE,… other tests than those beside the file
  --line N       only the changes of this line of the file
  --help         show this text

Status: 0 each file has at most the survivors that scripts/pureFiles.json allows it (none, for a
file that is not in it), 1 one has more, 2 wrong usage.`;

const ALLOWED = JSON.parse(readFileSync(join(root, "scripts", "pureFiles.json"), "utf8"));

function readOptions(argv) {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      tests: { type: "string" },
      line: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const files = positionals.length > 0 ? positionals : Object.keys(ALLOWED).map((file) => join(root, file));
  return { ...values, files: files.map((file) => resolve(file)) };
}

/**
 * The tests in a file's folder that have its name or import it. An import of types alone tests nothing, and one with a database
 * takes too long for each change.
 */
function testsBeside(file) {
  const name = basename(file, ".ts");
  const folder = dirname(file);
  const isImport = new RegExp(`^import (?!type )[^;]*"\\./${name}\\.js"`, "m");
  return readdirSync(folder)
    .filter((test) => test.endsWith(".test.ts"))
    .map((test) => join(folder, test))
    .filter((test) => {
      const text = readFileSync(test, "utf8");
      return (
        !text.includes("/testStore.js") && (basename(test).startsWith(`${name}.`) || isImport.test(text))
      );
    });
}

/** The processor time of a run without a change, and of one that may take longer by a change, in ms. */
const FIRST_LIMIT_MS = 120_000;
const limitOf = (firstMs) => 3_000 + 3 * firstMs;

/** Prints the mutants that no test notices. @returns their number, and that of all. */
async function mutate(file, tests, line) {
  const text = readFileSync(file, "utf8");
  let runner = startTests(file, tests);
  const first = await runner.run(text, FIRST_LIMIT_MS);
  if (!first?.passed) throw new Error(`the tests of ${file} fail without a change`);
  const mutants = mutantsOf(file, text).filter((one) => line === undefined || one.line === Number(line));
  let survivors = 0;
  for (const mutant of mutants) {
    if (runner.ended()) runner = startTests(file, tests);
    const outcome = await runner.run(mutant.text, limitOf(first.cpuMs));
    if (!outcome?.passed) continue;
    survivors++;
    console.log(`  ${relative(root, file)}:${mutant.line}  ${mutant.from.trim()}  →  ${mutant.to.trim()}`);
  }
  runner.end();
  return { survivors, count: mutants.length };
}

function startTests(file, tests) {
  const child = fork(join(root, "scripts", "mutationTests.mjs"), [file, ...tests], { stdio: "ignore" });
  const ended = once(child, "exit").then(() => []);
  return {
    /** Runs the tests on the text. @returns undefined if they take more processor time, as a loop without an end does. */
    async run(text, limitMs) {
      child.send({ text, limitMs });
      const [outcome] = await Promise.race([once(child, "message"), ended]);
      return outcome;
    },
    ended: () => child.exitCode !== null || child.signalCode !== null,
    end: () => child.kill("SIGKILL"),
  };
}

async function main({ files, tests, line }) {
  let status = 0;
  for (const file of files) {
    const name = relative(root, file);
    const chosen = tests?.split(",").map((test) => resolve(test)) ?? testsBeside(file);
    if (chosen.length === 0) throw new Error(`no test beside ${name} imports it; name some with --tests`);
    const { survivors, count } = await mutate(file, chosen, line);
    console.log(`${name}: ${count - survivors} of ${count} changes noticed`);
    if (survivors > (ALLOWED[name] ?? 0)) status = 1;
  }
  return status;
}

await runMain({ usage: USAGE, readOptions, run: main });
