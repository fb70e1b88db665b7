import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { installProject } from "../../scripts/install.mjs";
import { freshFolder } from "./freshFolder.js";

const run = promisify(execFile);
const installed = await installProject("integrations/foundry");

/** A program of foundry from npm, which has binaries for some machines. */
export type FoundryProgram = "anvil" | "cast" | "forge";

/** @returns undefined where npm has installed none for this machine. */
export function pathOf(program: FoundryProgram): string | undefined {
  try {
    const manifest = `@foundry-rs/${program}-linux-amd64/package.json`;
    return join(dirname(installed.resolve(manifest)), "bin", program);
  } catch {
    return undefined;
  }
}

export interface FoundryOptions {
  /** The folder to run in, an empty one by default. */
  readonly cwd?: string;
  /** Variables of the program's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program of foundry, without settings and caches of the user's. @returns its standard output. */
export async function runFoundry(
  program: FoundryProgram,
  args: readonly string[],
  { cwd = freshFolder(), env = {} }: FoundryOptions = {},
): Promise<string> {
  const path = pathOf(program);
  if (path === undefined) throw new Error(`npm has installed no ${program} for this machine`);
  const { PATH = "" } = process.env;
  const { stdout } = await run(path, args, { cwd, env: { ...env, PATH, HOME: cwd }, timeout: 200_000 });
  return stdout;
}
