import { fileURLToPath } from "node:url";
import { ChildProgram } from "../../../../test/support/childProgram.js";

/** The program runs in the package's folder, so that its imports find the built package. */
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Runs the text of a module in a process of its own, which a test can kill. The global `input` has the given value.
 * Resolves with the program's first line of output.
 */
export async function runProgram(
  text: string,
  input: unknown,
): Promise<{ readonly line: string; signal(name: NodeJS.Signals): void; kill(): Promise<void> }> {
  const source = `const input = ${JSON.stringify(input)};\n${text}`;
  const program = new ChildProgram(["--input-type=module", "-e", source], { cwd: PACKAGE });
  const [line] = await program.line(/.+/);
  return {
    line,
    signal: (name) => program.signal(name),
    async kill() {
      await program.end("SIGKILL");
    },
  };
}
