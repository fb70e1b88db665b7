// The example of Hardhat 3, which Node 20 cannot run. `npm run test:nodes -- --versions 26 test/hardhat3.test.ts` runs it anywhere.
import { createRequire } from "node:module";
import { join } from "node:path";
import { beforeAll, expect, it, vi } from "vitest";
import { useDevService } from "./support/devService.js";
import { runInExample } from "./support/exampleProject.js";
import { rpcOf } from "./support/jsonRpc.js";
import { root } from "./support/program.js";

const example = join(root, "examples", "hardhat-3", "package.json");

/** Hardhat's addon: npm installs it on a new enough Node alone, and `npm run test:nodes` beside the Node that it runs. */
function findAddon(): string | undefined {
  for (const from of [createRequire(example).resolve("@nomicfoundation/edr"), process.execPath]) {
    try {
      return createRequire(from).resolve("@nomicfoundation/edr-linux-x64-gnu");
    } catch {}
  }
  return undefined;
}

const addon = findAddon();
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 13);
const obstacle = isNewEnough ? "npm has installed no addon of Hardhat's" : "Hardhat 3 needs Node 22.13";
const cannotRun = !isNewEnough || addon === undefined;
// Hardhat starts twice.
vi.setConfig({ testTimeout: 300_000 });

const started = useDevService();

beforeAll(() => rpcOf(started().rpcUrl)("evm_setAutomine", true));

it.skipIf(cannotRun)(
  `Hardhat 3 runs its helpers, viem and ethers, and sends without gas${cannotRun ? ` (${obstacle})` : ""}`,
  async () => {
    const cli = join(createRequire(example).resolve("hardhat/package.json"), "../dist/src/cli.js");
    const env = { NAPI_RS_NATIVE_LIBRARY_PATH: addon ?? "" };
    await runInExample("hardhat-3", [cli, "build"], started(), env);
    const output = await runInExample("hardhat-3", ["--test"], started(), env);
    expect(output).toMatch(/pass 5\n.*fail 0\n/s);
  },
);
