import { join } from "node:path";
import { ChildProgram, root } from "./childProgram.js";
import type { DevService } from "./devService.js";
import { freshFolder } from "./freshFolder.js";

/**
 * Runs Node with these arguments in the folder of an example, as its reader does beside `gas-waiver dev`.
 * @returns its standard output.
 */
export async function runInExample(
  name: string,
  args: readonly string[],
  { url, rpcUrl }: DevService,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const program = new ChildProgram(args, {
    cwd: join(root, "examples", name),
    env: {
      ...{ GAS_WAIVER_URL: url, RPC_URL: rpcUrl, HOME: freshFolder() },
      // npm and Hardhat look for no newer version and ask no question on a machine of CI.
      ...{ CI: "true", HARDHAT_DISABLE_TELEMETRY_PROMPT: "true" },
      ...env,
    },
  });
  const { status } = await program.ended;
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}:\n${program.output}`);
  return program.stdout;
}
