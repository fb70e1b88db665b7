// The server is built without the clouds' SDKs: their types are checked here against what the custodies use of them.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { installProject, root } from "../../../../scripts/install.mjs";

const PROJECT = "integrations/custody";
await installProject(PROJECT);

it("the clouds' SDKs have what the custodies use", async () => {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const checked = promisify(execFile)(process.execPath, [compiler, "-p", join(root, PROJECT)]);
  const { stdout } = await checked.catch((error: { readonly stdout: string }) => error);
  expect(stdout).toBe("");
});
