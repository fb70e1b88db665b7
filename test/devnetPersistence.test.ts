// A devnet with --state-dir, killed at random moments under load: a restart has every announced block, and goes on from it.
import { keccak256, type TransactionLike } from "ethers";
import { describe, expect, it } from "vitest";
import { gasWaiver } from "./support/commandLine.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";
import { rpcOf } from "./support/jsonRpc.js";
import { Program } from "./support/program.js";
import { SeededRandom } from "./support/seededRandom.js";
import { submit } from "./support/submit.js";
import { account, CHAIN_ID, connect, DEV_API_KEY, MARKER, tokensOf, transferOf } from "./support/user.js";

const KILLS = 4;
const SEED = 20_260_101;

const startChain = (folder: string) =>
  Program.gasWaiver(["devnet", "--port", "0", "--block-time", "0", "--state-dir", folder]);

const urlOf = async (program: Program) => (await program.ready()).url;

const rpc = <T>(url: string, method: string, ...params: unknown[]) => rpcOf(url)<T>(method, ...params);

interface Block {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
  readonly transactions: string[];
}

/** The blocks and inclusions that the node has announced to clients. */
class Announced {
  readonly blocks = new Map<number, string>();
  /** The block's hash by the transaction's. */
  readonly transactions = new Map<string, string>();
}

/** Signs the next wrapper of a waiver, or the next transfer that pays for its gas. */
async function signNext(url: string, lane: number): Promise<string> {
  const next = async (i: number) =>
    Number(await rpc(url, "eth_getTransactionCount", account(i).address, "pending"));
  const chainId = CHAIN_ID;
  if (lane === 2) {
    const paid: TransactionLike = { type: 0, chainId, gasPrice: 10n ** 9n, gasLimit: 21_000, value: 1 };
    return account(13).signTransaction({ ...paid, to: account(5).address, nonce: await next(13) });
  }
  const [user, waiver] = [account(lane), account(10 + lane)];
  const inner = await user.signTransaction(transferOf(account(7).address, 1n, await next(lane)));
  const wrapper = { type: 0, chainId, gasPrice: 0, gasLimit: 300_000, to: MARKER, data: inner };
  return waiver.signTransaction({ ...wrapper, nonce: await next(10 + lane) });
}

/** Sends transactions and records the announcements, until the node is killed. */
async function load(url: string, lane: number, announced: Announced, progress: () => void): Promise<void> {
  try {
    for (;;) {
      const raw = await signNext(url, lane);
      const hash = await rpc<string>(url, "eth_sendRawTransaction", raw);
      expect(hash).toBe(keccak256(raw));
      const receipt = await rpc<{ blockHash: string } | null>(url, "eth_getTransactionReceipt", hash);
      if (receipt) announced.transactions.set(hash, receipt.blockHash);
      const head = await rpc<Block>(url, "eth_getBlockByNumber", "latest", false);
      announced.blocks.set(Number(head.number), head.hash);
      progress();
    }
  } catch (error) {
    // The process was killed in the middle of a call.
    if (!(error instanceof TypeError) && !(error instanceof SyntaxError)) throw error;
  }
}

/** All blocks up to the head, in one JSON-RPC batch. */
async function blocksTo(url: string, head: number): Promise<Block[]> {
  const batch = Array.from({ length: head + 1 }, (_, number) => ({
    ...{ jsonrpc: "2.0", id: number, method: "eth_getBlockByNumber" },
    params: [`0x${number.toString(16)}`, false],
  }));
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(batch),
  });
  return ((await response.json()) as { result: Block }[]).map(({ result }) => result);
}

/** Checks that the chain has every announced block and inclusion. @returns the number of its head. */
async function assertKept(url: string, announced: Announced): Promise<number> {
  const head = Number(await rpc<string>(url, "eth_blockNumber"));
  let parent: Block | undefined;
  const places = new Map<string, string>();
  for (const [number, block] of (await blocksTo(url, head)).entries()) {
    if (parent) expect(block.parentHash).toBe(parent.hash);
    if (announced.blocks.has(number)) expect(announced.blocks.get(number)).toBe(block.hash);
    for (const hash of block.transactions) places.set(hash, block.hash);
    parent = block;
  }
  expect(Math.max(-1, ...announced.blocks.keys())).toBeLessThanOrEqual(head);
  for (const [hash, block] of announced.transactions) expect(places.get(hash)).toBe(block);
  return head;
}

describe("a chain in a folder", () => {
  it(`killed ${KILLS} times under load, has every block that it announced`, {
    timeout: 900_000,
  }, async () => {
    const folder = freshFolder();
    const announced = new Announced();
    const random = new SeededRandom(SEED);
    for (let kill = 0; kill < KILLS; kill++) {
      const program = startChain(folder);
      const url = await urlOf(program);
      await assertKept(url, announced);
      let rounds = random.between(3, 14);
      const enough = new Promise<void>((resolve) => {
        const progress = () => {
          if (--rounds === 0) setTimeout(resolve, random.between(0, 24));
        };
        void Promise.all([0, 1, 2].map((lane) => load(url, lane, announced, progress))).then(() => resolve());
      });
      await enough;
      expect(await program.end("SIGKILL")).toEqual({ status: null, signal: "SIGKILL" });
    }
    expect(announced.transactions.size).toBeGreaterThan(KILLS * 3);

    const last = startChain(folder);
    const url = await urlOf(last);
    const head = await assertKept(url, announced);
    // The state agrees with the blocks, and the chain goes on.
    const chain = connect(url);
    const used = await Promise.all([0, 1].map((i) => chain.getTransactionCount(account(i).address)));
    const received = await tokensOf(chain, account(7).address);
    expect(received).toBe(1_000_000n * 10n ** 18n + BigInt((used[0] ?? 0) + (used[1] ?? 0)));
    await rpc(url, "eth_sendRawTransaction", await signNext(url, 0));
    expect(await chain.getTransactionCount(account(0).address)).toBe((used[0] ?? 0) + 1);
    expect(await chain.getBlockNumber()).toBe(head + 1);
    chain.destroy();
    expect(await last.end()).toEqual({ status: 0, signal: null });
    expect(last.stderr).toBe("");
  });

  it("belongs to one process at a time", async () => {
    const folder = freshFolder();
    const first = startChain(folder);
    await first.ready();
    const second = startChain(folder);
    expect(await second.ended).toEqual({ status: 1, signal: null });
    expect(second.stderr).toMatch(/^gas-waiver: the state folder [^\n]* is in use by process \d+; [^\n]*\n$/);
    expect(second.stderr).toContain(folder);
    expect(await first.end("SIGINT")).toEqual({ status: 0, signal: null });
    const third = startChain(folder);
    await third.ready();
    expect(await third.end()).toEqual({ status: 0, signal: null });
  });

  it("has the service's earlier submissions after a restart of both", {
    timeout: 240_000,
  }, async () => {
    const [stateDir, dataDir] = [freshFolder(), await dataFolder()];
    const dev = () =>
      gasWaiver([
        ...["dev", "--port", "0", "--rpc-port", "0", "--block-time", "100", "--no-demo"],
        ...["--state-dir", stateDir, "--data-dir", dataDir],
      ]);
    const signed = await account(3).signTransaction(transferOf(account(7).address, 5n, 0));
    const ids: string[] = [];
    for (const earlierCount of [0, 1]) {
      const program = dev();
      const { url, rpcUrl } = await program.ready();
      expect(program.stdout).toContain(`${earlierCount} earlier submission`);
      const [line] = await submit(url, [signed], { query: "?wait=included", key: DEV_API_KEY });
      expect(line).toMatchObject({ success: true, txHash: keccak256(signed) });
      ids.push(line?.id ?? "");
      expect(await rpc(rpcUrl, "eth_getTransactionCount", account(3).address, "latest")).toBe("0x1");
      expect(await program.end()).toEqual({ status: 0, signal: null });
    }
    expect(ids[1]).toBe(ids[0]);
  });
});
