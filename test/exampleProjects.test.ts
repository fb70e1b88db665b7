// The projects of the examples that test contracts of their own, with their tools from npm, beside one `gas-waiver dev`.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { installProject } from "../scripts/install.mjs";
import { useDevService } from "./support/devService.js";
import { runInExample } from "./support/exampleProject.js";
import { pathOf, runFoundry } from "./support/foundry.js";
import { freshFolder } from "./support/freshFolder.js";
import { rpcOf } from "./support/jsonRpc.js";
import { GAS_WAIVER, Program, root } from "./support/program.js";
import { account } from "./support/user.js";

// Each test runs several programs.
vi.setConfig({ testTimeout: 300_000 });

const hardhat = await installProject("examples/hardhat-2");
const started = useDevService();

beforeAll(() => rpcOf(started().rpcUrl)("evm_setAutomine", true));

describe("the example of Hardhat 2", () => {
  it("runs Hardhat's network helpers, ethers and viem, and sends without gas", async () => {
    const cli = hardhat.resolve("hardhat/internal/cli/bootstrap");
    expect(await runInExample("hardhat-2", [cli, "test"], started())).toMatch(/ 5 passing /);
  });
});

const isInstalled = pathOf("forge") !== undefined && pathOf("cast") !== undefined;

describe(`the example of Foundry${isInstalled ? "" : " (npm has no binaries for this machine)"}`, () => {
  const cwd = freshFolder();
  const solc = ["--offline", "--use", join(root, "test", "foundry", "solc.mjs")];
  const forge = (...args: string[]) => runFoundry("forge", [...args], { cwd, env: { POLL: poll } });
  const cast = (...args: string[]) => runFoundry("cast", args);
  const rpc = () => ["--rpc-url", started().rpcUrl];
  const gateway = () => ["--rpc-url", `${started().url}/rpc/gwp_dev_local`, "--legacy"];
  const signedBy = (i: number) => ["--private-key", account(i).privateKey];
  const votes = async () => Number(await cast("call", ...rpc(), poll, "votes()(uint256)"));
  let poll = "";

  it.skipIf(!isInstalled)(
    "deploys a contract, sends to it without gas by cast and forge script, tests it on a fork, and goes back",
    async () => {
      cpSync(join(root, "examples", "foundry"), cwd, { recursive: true });
      await forge("build", ...solc);
      const deployment = ["--legacy", "--broadcast", "--json", "--constructor-args", "86400"];
      const created = await forge("create", "Poll", ...solc, ...rpc(), ...signedBy(13), ...deployment);
      poll = JSON.parse(created).deployedTo;
      await allow(poll);

      const snapshot = JSON.parse(await cast("rpc", ...rpc(), "evm_snapshot"));
      const receipt = await cast("send", ...gateway(), ...signedBy(0), "--json", poll, "vote()");
      expect(JSON.parse(receipt)).toMatchObject({ status: "0x1", effectiveGasPrice: "0x0" });
      const script = ["script", "script/Vote.s.sol", ...solc, ...gateway(), ...signedBy(1), "--broadcast"];
      await forge(...script, "--sig", "run(address)", poll);
      expect(await votes()).toBe(2);
      const tests = JSON.parse(await forge("test", ...solc, "--fork-url", started().rpcUrl, "--json"));
      const results = Object.values<{ status: string }>(tests["test/Poll.t.sol:PollTest"].test_results);
      expect(results.map(({ status }) => status)).toEqual(["Success", "Success", "Success"]);

      expect(JSON.parse(await cast("rpc", ...rpc(), "evm_revert", snapshot))).toBe(true);
      expect(await votes()).toBe(0);
      await cast("send", ...gateway(), ...signedBy(0), poll, "vote()");
      expect(await votes()).toBe(1);
    },
  );

  /** Lets the devnet's waiver call a contract. */
  async function allow(contract: string): Promise<void> {
    const target = ["--waiver", account(10).address, "--target", contract];
    const command = new Program([GAS_WAIVER, "governance", "allow", "--dev", ...rpc(), ...target]);
    expect(await command.ended).toMatchObject({ status: 0 });
  }
});
