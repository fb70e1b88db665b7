// The installation of the projects beside the root's, by processes that need one at the same time.
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { installProject, root } from "../scripts/install.mjs";
import { freshFolder } from "./support/freshFolder.js";

const run = promisify(execFile);

/** Makes a project that depends on a package of its own folder, with the lock file that npm makes of it. */
async function makeProject(): Promise<string> {
  const folder = freshFolder();
  mkdirSync(join(folder, "one"));
  writeFileSync(join(folder, "one/package.json"), '{ "name": "one", "version": "1.0.0" }');
  writeFileSync(join(folder, "package.json"), '{ "private": true, "dependencies": { "one": "file:one" } }');
  await run("npm", ["install", "--package-lock-only", "--offline"], { cwd: folder });
  return folder;
}

/** Installs it in a process of its own. @returns the number of times that npm ran. */
async function install(folder: string): Promise<number> {
  const program = [
    `import { installFolder } from ${JSON.stringify(join(root, "scripts/install.mjs"))};`,
    "const { signal } = new AbortController();",
    `await installFolder(${JSON.stringify(folder)}, { signal, flags: ["--offline"], onBegin: () => console.log("begun") });`,
  ].join("\n");
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program]);
  return stdout.split("begun").length - 1;
}

describe("an installation", () => {
  it("is made once by processes that need it at the same time, and not again", async () => {
    const folder = await makeProject();
    const counts = await Promise.all([install(folder), install(folder), install(folder)]);
    expect(counts.sort()).toEqual([0, 0, 1]);
    expect(readdirSync(join(folder, "node_modules"))).toContain("one");
    expect(await install(folder)).toBe(0);
  });

  it("goes on where a process has ended during its own", async () => {
    const folder = await makeProject();
    const { stdout } = await run(process.execPath, ["-p", "process.pid"]);
    symlinkSync(stdout.trim(), join(folder, ".installing"));
    expect(await install(folder)).toBe(1);
    expect(readdirSync(folder)).not.toContain(".installing");
  });

  it("that fails names the project", async () => {
    await expect(installProject("integrations/none")).rejects.toThrow(
      "the packages of integrations/none cannot be installed: ",
    );
  });
});
