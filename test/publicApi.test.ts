import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as ethers from "../packages/client/src/ethers.js";
import * as client from "../packages/client/src/index.js";
import * as clientForNode from "../packages/client/src/node.js";
import * as relay from "../packages/client/src/relay.js";
import * as selfHosted from "../packages/client/src/selfHosted.js";
import * as viem from "../packages/client/src/viem.js";
import * as wagmi from "../packages/client/src/wagmi.js";
import * as cryptoNative from "../packages/crypto-native/src/index.js";
import * as description from "../packages/protocol/src/description/index.js";
import * as protocol from "../packages/protocol/src/index.js";
import * as wire from "../packages/protocol/src/wire/index.js";
import { exampleModules, readDocumentation } from "./support/documentation.js";

const root = join(import.meta.dirname, "..");
const documentation = readDocumentation(["protocol", "crypto-native", "client"]);

/** The functions and classes that an entry point exports, except its errors. */
function functionsOf(entry: object): string[] {
  return Object.entries(entry)
    .filter(([, value]) => typeof value === "function" && !(value.prototype instanceof Error))
    .map(([name]) => name);
}

const ENTRIES = {
  "@gas-waiver/protocol": protocol,
  "@gas-waiver/protocol/wire": wire,
  "@gas-waiver/protocol/description": description,
  "@gas-waiver/crypto-native": cryptoNative,
  "@gas-waiver/client": client,
  "@gas-waiver/client/node": clientForNode,
  "@gas-waiver/client/relay": relay,
  "@gas-waiver/client/self-hosted": selfHosted,
  "@gas-waiver/client/viem": viem,
  "@gas-waiver/client/ethers": ethers,
  "@gas-waiver/client/wagmi": wagmi,
};

describe("the documentation of the public functions", () => {
  it.each(Object.entries(ENTRIES))("of %s has an example for each of them", (_, entry) => {
    const functions = functionsOf(entry);
    expect(functions.length).toBeGreaterThan(0);
    expect(functions.filter((name) => !documentation.exported(name).includes("@example"))).toEqual([]);
  });

  it.each([
    ["WaiverClient", Object.keys(client.createWaiverClient({ url: "http://127.0.0.1" })).length],
    ["SocketClient", 3],
    ["GasWaiverActions", 7],
  ])("shows an example for each method of %s where an editor hovers it", (name, count) => {
    const methods = documentation.methods(name);
    expect(methods).toHaveLength(count);
    expect(methods.filter(({ comment }) => !comment.includes("@example")).map((one) => one.name)).toEqual([]);
  });

  it("has examples that compile against the packages", () => {
    mkdirSync(join(root, "tmp"), { recursive: true });
    const folder = mkdtempSync(join(root, "tmp", "examples-"));
    try {
      const modules = exampleModules(documentation, ENTRIES);
      expect(modules.length).toBeGreaterThan(80);
      modules.forEach(({ text }, i) => {
        writeFileSync(join(folder, `example${i}.mts`), text);
      });
      const compilerOptions = { types: ["node"], noUnusedLocals: false, verbatimModuleSyntax: false };
      const config = { extends: "../../tsconfig.test.json", compilerOptions, include: ["*.mts"] };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
      const problems = compile(folder).replace(
        /^.*example(\d+)\.mts/gm,
        (_, i) => `the example in ${modules[Number(i)]?.file}`,
      );
      expect(problems).toBe("");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** Type-checks a folder, and returns the compiler's problems. */
function compile(folder: string): string {
  try {
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    execFileSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8", stdio: "pipe" });
    return "";
  } catch (error) {
    return String((error as { stdout?: string }).stdout);
  }
}
