import { appendFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { freshFolder } from "../../../../test/support/freshFolder.js";
import {
  addressOf,
  createTestNode,
  hashOf,
  signInner,
  signOrdinary,
  type TestNode,
  transferData,
  wrap,
} from "../../test/support/testNode.js";
import { sealedBlock } from "../block/block.js";
import { Chain } from "../chain/chain.js";
import type { Journal } from "../chain/journal.js";
import { createDevnet } from "../createDevnet.js";
import { resolveOptions } from "../options.js";
import type { Overlay } from "../state/overlay.js";
import { EMPTY_ACCOUNT } from "../state/reader.js";
import { encodeGenesis } from "./codec.js";
import { frame } from "./recordLog.js";

const open = (stateDir: string) => createTestNode({ stateDir });

/** The content of the chain, as a client reads it. */
async function contentOf({ rpc }: TestNode): Promise<unknown[]> {
  const head = Number(await rpc<Hex>("eth_blockNumber"));
  const content: unknown[] = [];
  for (let number = 0; number <= head; number++) {
    const tag = `0x${number.toString(16)}`;
    const receipts = await rpc<{ contractAddress: Hex | null }[]>("eth_getBlockReceipts", tag);
    content.push(await rpc("eth_getBlockByNumber", tag, true), receipts);
    for (const { contractAddress } of receipts) {
      if (contractAddress !== null) content.push(await rpc("eth_getCode", contractAddress, "latest"));
    }
    for (const index of [0, 1, 9, 10, 13]) {
      content.push(await rpc("eth_getTransactionCount", addressOf(index), tag));
      content.push(await rpc("eth_getBalance", addressOf(index), tag));
    }
  }
  content.push(await rpc("eth_getLogs", { fromBlock: "0x0" }));
  return content;
}

/** Deploys a contract of one byte of code, moves coins, carries wrappers, and leaves one block empty. */
async function fill(node: TestNode): Promise<void> {
  await node.sendAndMine(wrap(signInner(0)), signOrdinary(13, { value: 5n, data: new Uint8Array() }));
  await node.devnet.mine();
  const creation = { to: undefined, data: Buffer.from("6001600c60003960016000f300", "hex"), nonce: 1n };
  const failing = signInner(1, { data: transferData(addressOf(9), 10n ** 30n) });
  await node.sendAndMine(signOrdinary(13, creation), wrap(failing, { nonce: 1n }));
}

async function problemOf(stateDir: string): Promise<string> {
  const devnet = await createDevnet({ stateDir }).catch((error: Error) => error);
  if (devnet instanceof Error) return devnet.message;
  await devnet.close();
  throw new Error("the folder was not refused");
}

describe("a chain in a state folder", () => {
  it("is the same after a restart: blocks, receipts, logs, past states, contracts", async () => {
    const stateDir = join(freshFolder(), "made", "for me");
    const first = await open(stateDir);
    expect(first.devnet.restored).toEqual({ blocks: 0, cutBytes: 0 });
    await fill(first);
    const before = await contentOf(first);
    await first.devnet.close();

    const second = await open(stateDir);
    expect(second.devnet.restored).toEqual({ blocks: 3, cutBytes: 0 });
    expect(await contentOf(second)).toEqual(before);
    await second.sendAndMine(wrap(signInner(0, { nonce: 1n }), { nonce: 2n }));
    expect(await second.nonce(0)).toBe(2n);
    await second.devnet.close();
  });

  it("knows earlier transactions, and not those that waited in the pool", async () => {
    const stateDir = freshFolder();
    const first = await open(stateDir);
    const [done, waiting] = [wrap(signInner(0)), wrap(signInner(1), { nonce: 1n })];
    await first.sendAndMine(done);
    await first.send(waiting);
    await first.devnet.close();
    const second = await open(stateDir);
    await expect(second.send(done)).rejects.toMatchObject({ reason: "ALREADY_KNOWN" });
    await second.sendAndMine(waiting);
    expect(await second.receipt(hashOf(waiting))).toMatchObject({ status: "0x1", blockNumber: "0x2" });
    await second.devnet.close();
  });

  it("keeps state patches, reverts and resets", async () => {
    const stateDir = freshFolder();
    const first = await open(stateDir);
    await first.sendAndMine(wrap(signInner(0)));
    await first.rpc("anvil_setBalance", addressOf(0), "0x7");
    const snapshot = await first.rpc("evm_snapshot");
    await first.sendAndMine(wrap(signInner(0, { nonce: 1n }), { nonce: 1n }));
    await first.rpc("anvil_setBalance", addressOf(0), "0x8");
    await first.devnet.mine();
    expect(await first.rpc("evm_revert", snapshot)).toBe(true);
    await first.rpc("anvil_setBalance", addressOf(1), "0x9");
    await first.devnet.mine();
    const before = await contentOf(first);
    await first.devnet.close();

    const second = await open(stateDir);
    expect(second.devnet.restored).toMatchObject({ blocks: 2 });
    expect(await contentOf(second)).toEqual(before);
    expect([await second.balance(0), await second.balance(1), await second.nonce(0)]).toEqual([7n, 9n, 1n]);
    await second.rpc("anvil_reset");
    await second.sendAndMine(wrap(signInner(2)));
    const afterReset = await contentOf(second);
    await second.devnet.close();

    const third = await open(stateDir);
    expect(third.devnet.restored).toMatchObject({ blocks: 1 });
    expect(await contentOf(third)).toEqual(afterReset);
    await third.devnet.close();
  });

  it("continues from a time that was moved forward", async () => {
    const stateDir = freshFolder();
    const first = await open(stateDir);
    await first.rpc("evm_increaseTime", 1_000_000);
    const { timestamp } = await first.devnet.mine();
    await first.devnet.close();
    const later = () => Date.now() + 5_000;
    const second = await createTestNode({ stateDir, now: later });
    expect((await second.devnet.mine()).timestamp).toBeGreaterThanOrEqual(timestamp);
    await second.rpc("evm_increaseTime", 10);
    expect((await second.devnet.mine()).timestamp).toBeGreaterThanOrEqual(timestamp + 10n);
    await second.devnet.close();
  });
});

describe("the end of the log", () => {
  it("may be cut anywhere: every whole block is restored, and the chain goes on", async () => {
    const stateDir = freshFolder();
    const log = join(stateDir, "chain.log");
    const node = await open(stateDir);
    const sizes = [statSync(log).size];
    const hashes: Hex[] = [];
    for (let nonce = 0n; nonce < 2n; nonce++) {
      await node.sendAndMine(wrap(signInner(0, { nonce }), { nonce }));
      hashes.push((await node.rpc<{ hash: Hex }>("eth_getBlockByNumber", "latest", false)).hash);
      sizes.push(statSync(log).size);
    }
    await node.devnet.close();
    const whole = readFileSync(log);
    const [start = 0, middle = 0] = sizes;
    // Cuts at every byte near the ends of records, and at every 37th byte in between.
    for (let size = start; size < whole.length; size++) {
      const edge = Math.min(...sizes.map((at) => Math.abs(at - size)));
      if (edge > 14 && size % 37 !== 0) continue;
      writeFileSync(log, whole.subarray(0, size));
      const again = await open(stateDir);
      const blocks = size >= middle ? 1 : 0;
      expect(again.devnet.restored).toEqual({ blocks, cutBytes: size - (sizes[blocks] ?? 0) });
      const latest = await again.rpc<{ hash: Hex }>("eth_getBlockByNumber", "latest", false);
      if (blocks > 0) expect(latest.hash).toBe(hashes[0]);
      expect((await again.devnet.mine()).number).toBe(blocks + 1);
      await again.devnet.close();
    }
  });

  it("may be zeros of a write that never reached the disk", async () => {
    const stateDir = freshFolder();
    const log = join(stateDir, "chain.log");
    const node = await open(stateDir);
    await node.devnet.mine();
    await node.devnet.close();
    const { size } = statSync(log);
    appendFileSync(log, Buffer.alloc(100_000));
    const again = await open(stateDir);
    expect(again.devnet.restored).toEqual({ blocks: 1, cutBytes: 100_000 });
    await again.devnet.close();
    expect(statSync(log).size).toBe(size);
    truncateSync(log, size + 5);
    const third = await open(stateDir);
    expect(third.devnet.restored).toEqual({ blocks: 1, cutBytes: 5 });
    await third.devnet.close();
  });
});

describe("a state folder is refused in one sentence", () => {
  it("when another chain of this process uses it", async () => {
    const stateDir = freshFolder();
    const first = await createDevnet({ stateDir });
    expect(await problemOf(stateDir)).toBe(
      `the state folder ${stateDir} is in use by another chain of this process`,
    );
    await first.close();
    await (await createDevnet({ stateDir })).close();
  });

  it("when another process uses it, and not after that process has ended", async () => {
    const stateDir = freshFolder();
    const stat = readFileSync(`/proc/${process.ppid}/stat`, "latin1");
    const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    writeFileSync(join(stateDir, "lock"), `${process.ppid} ${start}\n`);
    expect(await problemOf(stateDir)).toBe(
      `the state folder ${stateDir} is in use by process ${process.ppid}; stop that one, or name another folder`,
    );
    for (const ended of [`${process.ppid} 1\n`, `${process.pid} 1\n`, "4194999 5\n", ""]) {
      writeFileSync(join(stateDir, "lock"), ended);
      await (await createDevnet({ stateDir })).close();
    }
  });

  it("when it is written in another format, or is not a log at all", async () => {
    const stateDir = freshFolder();
    writeFileSync(join(stateDir, "chain.log"), "gas-waiver chain log 7\nnews");
    expect(await problemOf(stateDir)).toMatch(/ is written in format 7, and this version reads format 1; /);
    writeFileSync(join(stateDir, "chain.log"), "notes");
    expect(await problemOf(stateDir)).toMatch(/ has a chain\.log that is not a chain log$/);
  });

  it("when its genesis differs", async () => {
    const stateDir = freshFolder();
    await (await createDevnet({ stateDir })).close();
    const title = "gas-waiver chain log 1\n";
    const log = join(stateDir, "chain.log");
    const other = sealedBlock([], { number: 0n, stateRoot: new Uint8Array(32).fill(7) });
    writeFileSync(log, Buffer.concat([Buffer.from(title), frame(encodeGenesis(2201n, other))]));
    expect(await problemOf(stateDir)).toContain(
      ` holds a chain with another genesis (state root ${bytesToHex(new Uint8Array(32).fill(7))}`,
    );
    writeFileSync(log, Buffer.concat([Buffer.from(title), frame(encodeGenesis(988n, other))]));
    expect(await problemOf(stateDir)).toMatch(/ holds chain 988, and this is chain 2201$/);
    writeFileSync(log, title);
    expect(await problemOf(stateDir)).toMatch(/ holds no genesis in chain\.log$/);
  });

  it("when a record in the middle is damaged, and nothing is cut then", async () => {
    const stateDir = freshFolder();
    const log = join(stateDir, "chain.log");
    const node = await open(stateDir);
    const start = statSync(log).size;
    for (let i = 0; i < 3; i++) await node.devnet.mine();
    await node.devnet.close();
    const whole = readFileSync(log);
    for (const at of [start, start + 5, start + 9, start + 40]) {
      const damaged = Buffer.from(whole);
      damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
      writeFileSync(log, damaged);
      expect(await problemOf(stateDir)).toMatch(
        new RegExp(
          ` is damaged: in chain\\.log, bytes ${start} and following are not a record, .*nothing was changed$`,
        ),
      );
      expect(readFileSync(log)).toEqual(damaged);
    }
  });

  it("when its records are whole but do not form a chain", async () => {
    const [one, two] = [freshFolder(), freshFolder()];
    const node = await open(one);
    const start = statSync(join(one, "chain.log")).size;
    await node.devnet.mine();
    const middle = statSync(join(one, "chain.log")).size;
    await node.devnet.mine();
    await node.devnet.close();
    const whole = readFileSync(join(one, "chain.log"));
    writeFileSync(join(two, "chain.log"), Buffer.concat([whole.subarray(0, start), whole.subarray(middle)]));
    expect(await problemOf(two)).toMatch(/ does not hold a whole chain: block 2 comes after block 0$/);
  });

  it("when it is a file, or its chain.log is a folder", async () => {
    const file = join(freshFolder(), "file");
    writeFileSync(file, "");
    expect(await problemOf(file)).toBe(`the state folder ${file} is not a folder`);
    const log = freshFolder();
    mkdirSync(join(log, "chain.log"));
    expect(await problemOf(log)).toBe(`the state folder ${log} has a chain.log that is not a chain log`);
  });
});

describe("a block that cannot be kept", () => {
  it("is not announced, changes nothing, and leaves its transactions to the next block", async () => {
    let full = true;
    const keptBlocks: number[] = [];
    const journal: Journal = {
      open: (genesis) => genesis,
      entries: () => [],
      patch: () => {
        if (full) throw new Error("no room");
      },
      rollBack: () => {},
      block: ({ number }) => {
        if (full) throw new Error("no room");
        keptBlocks.push(number);
      },
    };
    const chain = new Chain(resolveOptions({}), journal);
    const announced: number[] = [];
    chain.onBlock(({ number }) => announced.push(number));
    for (const nonce of [0n, 1n]) {
      await chain.send(hexToBytes(wrap(signInner(0, { nonce }), { nonce })));
    }
    await expect(chain.mine()).rejects.toThrow("no room");
    const setBalance = (state: Overlay) => state.setAccount(addressOf(0), { ...EMPTY_ACCOUNT, balance: 1n });
    await expect(chain.patch(setBalance)).rejects.toThrow("no room");
    expect([chain.head.number, chain.pool.size, announced]).toEqual([0, 2, []]);
    expect(chain.state.account(addressOf(0))).toBeUndefined();

    full = false;
    const { transactions } = await chain.mine();
    expect(transactions).toHaveLength(4);
    expect([keptBlocks, announced, chain.pool.size]).toEqual([[1], [1], 0]);
    expect(chain.state.account(addressOf(0))?.nonce).toBe(2n);
  });
});
