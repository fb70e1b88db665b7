import { execFileSync } from "node:child_process";
import { ChildProgram, GAS_WAIVER } from "./childProgram.js";

export { GAS_WAIVER, root } from "./childProgram.js";

/** A program that a test runs as a person would: by its arguments, output and signals. */
export class Program extends ChildProgram {
  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    super(args, { env });
  }

  /** Starts `gas-waiver` with these arguments. */
  static gasWaiver(args: readonly string[], env?: Readonly<Record<string, string>>): Program {
    return new Program([GAS_WAIVER, ...args], env);
  }
}

/** The command lines of all processes that contain the text. */
export function processesWith(text: string): string[] {
  return execFileSync("ps", ["-A", "-ww", "-o", "pid=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(text));
}
