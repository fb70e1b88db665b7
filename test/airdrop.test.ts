// The program of docs/recipes/airdrop.md, killed at random moments and started again.
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { allBlocks, programsOf } from "./docs/codeBlocks.js";
import { ChildProgram } from "./support/childProgram.js";
import { useDevService } from "./support/devService.js";
import { freshFolder } from "./support/freshFolder.js";
import { rpcOf } from "./support/jsonRpc.js";
import { root } from "./support/program.js";
import { SeededRandom } from "./support/seededRandom.js";
import { account, TOKEN, token } from "./support/user.js";

/** Set AIRDROP_RECIPIENTS=5000 AIRDROP_KILLS=12 AIRDROP_SEED=7 for the recipe's own size and other moments. */
const { AIRDROP_RECIPIENTS = "200", AIRDROP_KILLS = "2", AIRDROP_SEED = "1" } = process.env;
const RECIPIENTS = Number(AIRDROP_RECIPIENTS);
const KILLS = Number(AIRDROP_KILLS);
const SENDER = account(7).address;

const started = useDevService();
const folder = freshFolder();

/** Starts the recipe's program. @param killAt the lines of progress that it may write; all by default. */
function startAirdrop(killAt = Number.POSITIVE_INFINITY): ChildProgram {
  const preload = join(root, "test", "support", "killAtProgress.mjs");
  const args = ["--import", preload, "airdrop.mjs"];
  return new ChildProgram(args, { cwd: folder, env: { KILL_AT: String(killAt) } });
}

function writeProgram(): void {
  const [program] = programsOf(allBlocks()).filter(({ file }) => file === "docs/recipes/airdrop.md");
  const { url, rpcUrl } = started();
  const text = program?.text
    .replace("RECIPIENTS = 5_000", `RECIPIENTS = ${RECIPIENTS}`)
    .replace("http://127.0.0.1:8545", rpcUrl)
    .replace("http://127.0.0.1:8080", url);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "airdrop.mjs"), text ?? "");
}

/** The number of transfers of the sender that each account got. */
async function transfersByRecipient(): Promise<Map<string, number>> {
  const filter = { address: TOKEN, fromBlock: "0x0", topics: token.encodeFilterTopics("Transfer", [SENDER]) };
  const logs = await rpcOf(started().rpcUrl)<{ topics: string[] }[]>("eth_getLogs", filter);
  const counts = new Map<string, number>();
  for (const { topics } of logs) {
    const recipient = BigInt(topics[2] ?? 0).toString(16);
    counts.set(recipient, (counts.get(recipient) ?? 0) + 1);
  }
  return counts;
}

it(
  `an airdrop of ${RECIPIENTS} that is killed ${KILLS} times at random pays each recipient exactly once`,
  async () => {
    writeProgram();
    const random = new SeededRandom("airdrop", AIRDROP_SEED);
    for (let kill = 0; kill < KILLS; kill++) {
      // The kills together leave something to do: each lets a part of the airdrop pass.
      const killed = startAirdrop(Math.floor((random.next() * RECIPIENTS) / KILLS));
      expect(await killed.ended, killed.output).toEqual({ status: null, signal: "SIGKILL" });
    }
    const last = startAirdrop();
    expect(await last.ended, last.output).toEqual({ status: 0, signal: null });
    expect(last.stdout).toContain(`\n${RECIPIENTS} of ${RECIPIENTS} in blocks, 0 failed\n`);
    const counts = await transfersByRecipient();
    const recipients = Array.from({ length: RECIPIENTS }, (_, i) => (0x1000 + i).toString(16));
    expect([...counts.keys()].sort()).toEqual(recipients.sort());
    expect(new Set(counts.values())).toEqual(new Set([1]));
    expect(await started().chain.getTransactionCount(SENDER)).toBe(RECIPIENTS);
  },
  120_000 + RECIPIENTS * 100,
);
