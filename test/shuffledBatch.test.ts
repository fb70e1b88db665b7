import type { JsonRpcProvider } from "ethers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";
import { submit } from "./support/submit.js";
import { account, connect, tokensOf, transferOf } from "./support/user.js";

const USERS = 10;
const EACH = 10;

let program: Program;
let url: string;
let chain: JsonRpcProvider;

beforeAll(async () => {
  const folder = freshFolder();
  const args = ["--port", "0", "--rpc-port", "0", "--block-time", "100", "--no-demo", "--data-dir", folder];
  program = Program.gasWaiver(["dev", ...args]);
  const ready = await program.ready();
  url = ready.url;
  chain = connect(ready.rpcUrl);
});
afterAll(async () => {
  chain?.destroy();
  await program?.end();
});

/** The same order in each run: a multiplicative generator decides. */
function shuffled<T>(items: readonly T[]): T[] {
  const mixed = [...items];
  let state = 20_260_101;
  for (let i = mixed.length - 1; i > 0; i--) {
    state = (state * 48_271) % 2_147_483_647;
    const j = state % (i + 1);
    const [a, b] = [mixed[i], mixed[j]];
    if (a !== undefined && b !== undefined) [mixed[i], mixed[j]] = [b, a];
  }
  return mixed;
}

it("executes a shuffled batch of 100 from 10 users, each user's in nonce order", async () => {
  const recipient = "0x0000000000000000000000000000000000001234";
  const jobs = Array.from({ length: USERS * EACH }, (_, i) => ({
    user: i % USERS,
    nonce: Math.floor(i / USERS),
  }));
  const batch = await Promise.all(
    shuffled(jobs).map(async ({ user, nonce }) => ({
      user,
      nonce,
      raw: await account(user).signTransaction(transferOf(recipient, 1n, nonce)),
    })),
  );

  const lines = await submit(
    url,
    batch.map(({ raw }) => raw),
    { query: "?wait=included" },
  );

  expect(lines.map(({ index }) => index).sort((a, b) => a - b)).toEqual([...batch.keys()]);
  expect(lines.filter(({ success }) => !success)).toEqual([]);
  expect(new Set(lines.map(({ id }) => id)).size).toBe(batch.length);
  const places = await Promise.all(
    lines.map(async ({ index, txHash = "" }) => {
      const receipt = await chain.getTransactionReceipt(txHash);
      expect(receipt).toMatchObject({ status: 1, gasPrice: 0n });
      const place = (receipt?.blockNumber ?? 0) * 1_000_000 + (receipt?.index ?? 0);
      return { ...batch[index], place };
    }),
  );
  places.sort((a, b) => a.place - b.place);
  for (let user = 0; user < USERS; user++) {
    const order = places.filter((entry) => entry.user === user).map(({ nonce }) => nonce);
    expect(order).toEqual([...Array(EACH).keys()]);
  }
  expect(await tokensOf(chain, recipient)).toBe(BigInt(USERS * EACH));
});
