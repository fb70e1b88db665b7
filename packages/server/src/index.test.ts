import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";

/** Prints which packages a program has loaded that imports the built package. */
const PROGRAM = `
import { createRequire } from "node:module";
await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url))});
const files = Object.keys(createRequire(${JSON.stringify(import.meta.url)}).cache);
const names = files.map((file) => /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(file)?.[1]);
console.log(JSON.stringify([...new Set(names)]));
`;

it("loads no HTTP server and no metrics before a service is created", () => {
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", PROGRAM], {
    encoding: "utf8",
  });
  const packages = JSON.parse(output);
  expect(packages).toContain("pg");
  for (const name of ["fastify", "prom-client"]) expect(packages).not.toContain(name);
});
