// The example of Hardhat 3, which Node 20 cannot run. `npm run test:nodes -- --versions 26 test/hardhat3.test.ts` runs it anywhere.
import { join } from "node:path";
import { beforeAll, expect, it, vi } from "vitest";
import { installProject, nodeMissing, root } from "../scripts/install.mjs";
import { useDevService } from "./support/devService.js";
import { runInExample } from "./support/exampleProject.js";
import { rpcOf } from "./support/jsonRpc.js";

const PROJECT = "examples/hardhat-3";
const missing = await nodeMissing(join(root, PROJECT));
const installed = missing === undefined ? await installProject(PROJECT) : undefined;
// Hardhat starts twice.
vi.setConfig({ testTimeout: 300_000 });

const started = useDevService();

beforeAll(() => rpcOf(started().rpcUrl)("evm_setAutomine", true));

it.skipIf(installed === undefined)(
  `Hardhat 3 runs its helpers, viem and ethers, and sends without gas${missing === undefined ? "" : ` (Hardhat 3 needs Node ${missing})`}`,
  async () => {
    const cli = join(installed?.resolve("hardhat/package.json") ?? "", "../dist/src/cli.js");
    await runInExample("hardhat-3", [cli, "build"], started());
    const output = await runInExample("hardhat-3", ["--test"], started());
    expect(output).toMatch(/pass 5\n.*fail 0\n/s);
  },
);
