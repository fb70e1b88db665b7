// A program that pays from a waiver of its own, killed at random moments, with a node that fails at random.
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accountsOf, createDevnet } from "@gas-waiver/devnet";
import { expect, it } from "vitest";
import { ChildProgram } from "./support/childProgram.js";
import { freshFolder } from "./support/freshFolder.js";
import { rpcOf } from "./support/jsonRpc.js";
import { NodeProxy } from "./support/nodeProxy.js";
import { root } from "./support/program.js";
import { SeededRandom } from "./support/seededRandom.js";
import { account, CHAIN_ID, TOKEN, token } from "./support/user.js";

/** Set RELAY_TRANSFERS=2000 RELAY_KILLS=20 RELAY_SEED=7 for more, and for other moments. */
const { RELAY_TRANSFERS = "60", RELAY_KILLS = "3", RELAY_SEED = "1" } = process.env;
const TRANSFERS = Number(RELAY_TRANSFERS);
const KILLS = Number(RELAY_KILLS);
const USERS = [0, 1, 2].map(account);

const PROGRAM = `
import { fileJournal } from "@gas-waiver/client/node";
import { openWaiverRelay } from "@gas-waiver/client/self-hosted";
import { Interface, toBeHex } from "ethers";

const { rpcUrls, privateKey, users, transfers, to } = JSON.parse(process.env.JOB);
const token = new Interface(["function transfer(address to, uint256 amount)"]);
const relay = await openWaiverRelay({
  rpcUrls,
  chainId: ${CHAIN_ID},
  waiver: { privateKey },
  journal: fileJournal("relay.journal"),
  timeoutMs: 600_000,
  wait: "included",
});
const calls = Array.from({ length: transfers }, (_, i) => ({
  to,
  data: token.encodeFunctionData("transfer", [toBeHex(0x6000_0000 + i, 20), 1n]),
  idempotencyKey: "transfer " + i,
}));
const batches = users.map((user, u) =>
  relay.sendBatch({ privateKey: user }, calls.filter((_, i) => i % users.length === u)),
);
const results = (await Promise.all(batches)).flat();
await relay.close();
console.log(results.filter(({ success }) => success).length, "of", results.length);
`;

it(
  `a program of ${TRANSFERS} transfers that is killed ${KILLS} times, with a failing node, makes each once`,
  async () => {
    const [, waiver] = accountsOf("waiver");
    const devnet = await createDevnet({ blockTimeMs: 200 });
    const { url } = await devnet.listen({ port: 0 });
    const proxy = await NodeProxy.inFrontOf(url);
    const random = new SeededRandom("relay program", RELAY_SEED);
    const misfortunes = ["reset", "cutResponse", { status: 502, body: "bad gateway" }] as const;
    proxy.decide = (text) =>
      random.chance(text.includes("eth_sendRaw") ? 0.15 : 0.03) ? random.pick(misfortunes) : "pass";
    const folder = freshFolder();
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "pay.mjs"), PROGRAM);
    const users = USERS.map(({ privateKey }) => privateKey);
    const job = {
      rpcUrls: [proxy.url],
      privateKey: waiver?.privateKey,
      users,
      transfers: TRANSFERS,
      to: TOKEN,
    };
    const start = (killAt: number) => {
      const args = ["--import", join(root, "test/support/killAtFetch.mjs"), "pay.mjs"];
      const moment = { KILL_AT: String(killAt), KILL_MOMENT: random.pick(["before", "during", "after"]) };
      return new ChildProgram(args, { cwd: folder, env: { JOB: JSON.stringify(job), ...moment } });
    };
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        // The kills together leave something to do: a request sends one transfer of each user at most.
        const killed = start(5 + Math.floor((random.next() * TRANSFERS) / (5 * KILLS)));
        expect(await killed.ended, killed.output).toEqual({ status: null, signal: "SIGKILL" });
      }
      const last = start(Number.POSITIVE_INFINITY);
      expect(await last.ended, last.output).toEqual({ status: 0, signal: null });
      expect(last.stdout).toContain(`${TRANSFERS} of ${TRANSFERS}`);
      const senders = USERS.map(({ address }) => address);
      const topics = token.encodeFilterTopics("Transfer", [senders]);
      const logs = await rpcOf(url)<{ topics: string[] }[]>("eth_getLogs", {
        ...{ address: TOKEN, fromBlock: "0x0", topics },
      });
      const counts = new Map<string, number>();
      for (const {
        topics: [, , to = ""],
      } of logs)
        counts.set(to, (counts.get(to) ?? 0) + 1);
      expect([counts.size, logs.length]).toEqual([TRANSFERS, TRANSFERS]);
    } finally {
      await proxy.close();
      await devnet.close();
    }
  },
  120_000 + TRANSFERS * 500,
);
