// Runs docs/governance.sh against a real chain and a real service, and compares it with docs/governance.md.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Transaction } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChildProgram } from "./support/childProgram.js";
import { type CommandLineScript, commandLineScript } from "./support/commandLineScript.js";
import { processesWith, root } from "./support/program.js";
import { account, TOKEN, token } from "./support/user.js";

const script = join(root, "docs", "governance.sh");
const text = readFileSync(script, "utf8");
const hasBash = spawnSync("bash", ["--version"]).status === 0;

describe("the transactions of the walk-through", () => {
  const constants = [...text.matchAll(/^(transfer|approval|reading)_of_(\d)=(0x[0-9a-f]+)$/gm)];
  const methods = { transfer: "0xa9059cbb", approval: "0x095ea7b3", reading: token.getFunction("balanceOf") };

  it.each(constants.map(([, what = "", who = "", bytes = ""]) => ({ what, who, bytes })))(
    "$what of user $who is what its name says",
    ({ what, who, bytes }) => {
      const tx = Transaction.from(bytes);
      expect(tx).toMatchObject({ from: account(Number(who)).address, to: TOKEN, nonce: 0, gasPrice: 0n });
      const method = methods[what as keyof typeof methods];
      expect(tx.data.slice(0, 10)).toBe(typeof method === "string" ? method : method?.selector);
    },
  );
});

describe.skipIf(!hasBash)("the walk-through of governance", () => {
  let program: ChildProgram;
  let commands: CommandLineScript;
  let steps: string[] = [];
  beforeAll(async () => {
    commands = await commandLineScript();
    const env = { COMMANDS: join(commands.folder, "gas-waiver") };
    program = new ChildProgram([script], { command: "bash", env });
    const { status } = await program.ended;
    expect(status, program.output).toBe(0);
    steps = program.output.split(/^== \d+\. /m).slice(1);
  }, 180_000);
  afterAll(async () => {
    await program?.end();
    commands?.close();
  });

  const waiver = account(12).address;
  /** The service's result lines in a step. */
  const linesOf = (step: number) =>
    [...(steps[step - 1] ?? "").matchAll(/^\{"index":0.*$/gm)].map(([line]) => JSON.parse(line));

  it("has seven steps", () => {
    expect(steps).toHaveLength(7);
  });

  it("begins without the waiver: lines end with TIMEOUT, and the log has the reason", () => {
    const [, listed] = (steps[0] ?? "").split("gas-waiver governance list");
    expect(listed).toContain("Waivers:");
    expect(listed).not.toContain(waiver);
    expect(linesOf(2)).toMatchObject([
      { success: false, error: { code: "TIMEOUT", reason: "NOT_BROADCAST" } },
    ]);
    expect(steps[1]).toContain(`${waiver.toLowerCase()} is not a registered waiver`);
  });

  it("registers the waiver by three of four votes; the earlier submission is then included", () => {
    expect(steps[2]?.match(/^ {2}status .*$/gm)).toEqual([
      ...Array(3).fill("  status    open"),
      "  status    carried",
    ]);
    const lines = linesOf(3);
    expect(lines.slice(-2)).toMatchObject([{ success: true }, { success: true }]);
    // Repeated requests with one transaction give the same submission (D18).
    const ids = lines.slice(0, -1).map(({ id }) => id);
    expect(new Set(ids)).toEqual(new Set(linesOf(2).map(({ id }) => id)));
    expect(steps[2]).toMatch(/^\{"id":.*"state":"included"/m);
  });

  it("shows a refusal by the service's own policy", () => {
    expect(linesOf(4)).toMatchObject([
      { error: { code: "VALIDATION_FAILED", reason: "SELECTOR_NOT_ALLOWED" } },
    ]);
  });

  it("narrows the waiver's targets: the chain refuses a call that the service accepts, and names the failed check", () => {
    const [transfer, approval] = linesOf(5);
    expect(transfer.error).toMatchObject({ code: "VALIDATION_FAILED", reason: "SELECTOR_NOT_ALLOWED" });
    expect(transfer.error.message).toContain("target and selector: selector 0xa9059cbb");
    expect(approval).toMatchObject({ success: true });
  });

  it("revokes the waiver, and leaves the registry as it was", () => {
    expect(linesOf(6)).toMatchObject([{ error: { code: "TIMEOUT", reason: "NOT_BROADCAST" } }]);
    expect(steps[5]).toContain(`${waiver.toLowerCase()} is not a registered waiver`);
    expect(steps[6]).not.toContain(waiver);
    expect(steps[6]).toContain("No open proposals.");
  });

  it("leaves no process running", () => {
    const [, folder = "nowhere"] = steps[0]?.match(/data in (\S+)\/dev/) ?? [];
    expect(processesWith(folder)).toEqual([]);
  });
});
