import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { installProject, root } from "../../../../scripts/install.mjs";

const PROJECT = "integrations/custody";
const SERVER = join(root, "packages", "server");

/** Installs the optional peers of the server in a project of their own, and links them to where the server looks for them. */
export async function installCustodyPeers(): Promise<void> {
  await installProject(PROJECT);
  const { peerDependencies } = JSON.parse(readFileSync(join(SERVER, "package.json"), "utf8"));
  for (const name of Object.keys(peerDependencies)) {
    const installed = join(root, PROJECT, "node_modules", name);
    // An addon that could not be compiled is not there.
    if (existsSync(installed)) link(installed, join(SERVER, "node_modules", name));
  }
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  try {
    symlinkSync(target, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
