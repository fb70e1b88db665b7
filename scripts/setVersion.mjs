// npm run version:set -- X.Y.Z: gives all packages one version, and what they need of each other.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runMain } from "./runMain.mjs";

const USAGE = `Usage: npm run version:set -- X.Y.Z

Sets the version of the workspace in this folder and of all its packages, and the version of each other that they need.
Afterwards: npm install --package-lock-only`;

function readOptions([version, ...more]) {
  if (version === "--help") return { help: true };
  if (more.length > 0 || !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version ?? "")) {
    throw new Error(`"${[version, ...more].join(" ")}" is not a version such as 0.2.0 or 0.2.0-rc.1`);
  }
  return { version };
}

async function setVersion({ version }) {
  const names = await readdir("packages");
  for (const folder of [".", ...names.map((name) => join("packages", name))]) {
    const file = join(folder, "package.json");
    const manifest = JSON.parse(await readFile(file, "utf8"));
    manifest.version = version;
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      if (name.startsWith("@gas-waiver/")) manifest.dependencies[name] = version;
    }
    await writeFile(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
  }
  return 0;
}

await runMain({ usage: USAGE, readOptions, run: setVersion });
