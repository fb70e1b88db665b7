import { expect, it } from "vitest";
import { useDevService } from "./support/devService.js";
import { SeededRandom } from "./support/seededRandom.js";
import { submit } from "./support/submit.js";
import { account, DEV_API_KEY, tokensOf, transferOf } from "./support/user.js";

const USERS = 10;
const PER_USER = 10;
const SEED = 20_260_101;

const started = useDevService();

it("executes a shuffled batch of 100 from 10 users, each user's in nonce order", async () => {
  const { url, chain } = started();
  const recipient = "0x0000000000000000000000000000000000001234";
  const jobs = Array.from({ length: USERS * PER_USER }, (_, i) => ({
    user: i % USERS,
    nonce: Math.floor(i / USERS),
  }));
  const batch = await Promise.all(
    new SeededRandom(SEED).shuffled(jobs).map(async ({ user, nonce }) => ({
      user,
      nonce,
      raw: await account(user).signTransaction(transferOf(recipient, 1n, nonce)),
    })),
  );

  const lines = await submit(
    url,
    batch.map(({ raw }) => raw),
    { query: "?wait=included", key: DEV_API_KEY },
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
    expect(order).toEqual([...Array(PER_USER).keys()]);
  }
  expect(await tokensOf(chain, recipient)).toBe(BigInt(USERS * PER_USER));
});
