import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { createHeldLane } from "../../test/support/submissions.js";
import { useTestStore } from "../../test/support/testStore.js";
import { hashOf, innerOf, userAddress } from "../../test/support/user.js";
import type { Caller } from "../model/keys/caller.js";
import { createSubmissionsByHash } from "../results/submissionsByHash.js";
import type { Store } from "../store/store.js";
import { createHeldTransactions } from "./heldTransactions.js";
import { GatewayRefusal, RPC_CODES } from "./jsonRpc.js";

let store: Store;
let chainRef: number;
useTestStore("shared", async (opened) => {
  store = opened;
  ({ chain: chainRef } = await createHeldLane(store));
});
const SENDER = userAddress(1);
const caller = { keyId: "key" } as Caller;

/** The counts that the node answers, one after the other. */
let counts: bigint[] = [];
let pages = 0;
/** The answer of the node to everything else. */
let answer: () => unknown = () => null;
const held = () =>
  createHeldTransactions({
    store,
    chainRef,
    byHash: createSubmissionsByHash(store, chainRef),
    node: {
      read: async ({ method }) =>
        method === "eth_getTransactionCount" ? `0x${(counts.shift() ?? 0n).toString(16)}` : answer(),
    },
    storeTurns: {
      readOn(_caller, work) {
        pages++;
        return work();
      },
    },
  });

beforeEach(async () => {
  await store.pool.query("delete from unfinished");
  pages = 0;
  answer = () => null;
});

async function hold(from: number, to: number, raw: Hex = "0x"): Promise<void> {
  await store.pool.query(
    `insert into unfinished (id, chain, key_id, origin, inner_hash, inner_raw, sender, sender_nonce, target, waiver)
     select gen_random_uuid(), $1, 'key', gen_random_uuid(), sha256(n::text::bytea), $2, $3, n, $3, $3
     from generate_series($4::integer, $5) n`,
    [chainRef, hexToBytes(raw), hexToBytes(SENDER), from, to],
  );
}

describe("the pending nonce", () => {
  it.each([
    ["nothing is held", [], 5n, 5],
    ["the chain's next nonce is held", [[5, 7]], 5n, 8],
    ["only later ones are", [[7, 8]], 5n, 5],
    [
      "a gap is behind the first",
      [
        [5, 6],
        [8, 9],
      ],
      5n,
      7,
    ],
    ["the chain is ahead of some", [[3, 6]], 5n, 7],
    [
      "the chain is behind another gap",
      [
        [1, 2],
        [5, 6],
      ],
      5n,
      7,
    ],
    ["the chain is at the end", [[1, 4]], 5n, 5],
  ] as [string, [number, number][], bigint, number][])("where %s", async (_, runs, count, expected) => {
    for (const [from, to] of runs) await hold(from, to);
    counts = [count, count, count];
    expect(await held().transactionCount([SENDER, "pending"], caller)).toBe(`0x${expected.toString(16)}`);
  });

  it("reads a thousand of a sender's submissions at a time, and no more than it needs", async () => {
    await hold(0, 2_499);
    await hold(2_501, 4_999);
    counts = [10n];
    expect(await held().transactionCount([SENDER, "pending"], caller)).toBe("0x9c4");
    expect(pages).toBe(3);
  });

  it("counts what has gone to the chain while the store was read", async () => {
    await hold(8, 8);
    counts = [8n];
    expect(await held().transactionCount([SENDER, "pending"], caller)).toBe("0x9");
    await hold(20, 20);
    counts = [10n, 10n];
    expect(await held().transactionCount([SENDER, "pending"], caller)).toBe("0xa");
  });
});

describe("a transaction by its hash", () => {
  it("is found among those that are held, by clients that ask at the same time", async () => {
    await hold(1, 3, innerOf(1));
    const { rows } = await store.pool.query<{ inner_hash: Buffer }>("select inner_hash from unfinished");
    const unknown = bytesToHex(new Uint8Array(32));
    const { transactionByHash } = held();
    const hashes = [...rows.map(({ inner_hash }) => bytesToHex(inner_hash)), unknown];
    const found = await Promise.all(hashes.map((hash) => transactionByHash([hash], caller)));
    expect(found).toMatchObject([...rows.map(() => ({ from: SENDER, blockNumber: null })), null]);
    expect(found[3]).toBeNull();
  });

  it("is pending while the node that answers lacks the block that another one has shown", async () => {
    const [raw, hash] = [innerOf(1), hashOf(innerOf(1))];
    await hold(1, 1, raw);
    await store.pool.query(
      `update unfinished set inner_hash = $1, state = 'included', block_number = 7, block_hash = $1, gas_used = 1,
         reverted = false, included_at = now()`,
      [hexToBytes(hash)],
    );
    const { transactionByHash } = held();
    expect(await transactionByHash([hash], caller)).toMatchObject({ hash, from: SENDER, blockNumber: null });
    answer = () => ({ hash, blockNumber: "0x7" });
    expect(await transactionByHash([hash], caller)).toEqual({ hash, blockNumber: "0x7" });
  });

  it.each([
    ["is found while no node answers", RPC_CODES.internalError, true],
    ["is not looked for in the store where the node refuses the call", RPC_CODES.limitExceeded, false],
  ])("%s", async (_, code, isFound) => {
    await hold(1, 1, innerOf(1));
    const { rows } = await store.pool.query<{ inner_hash: Buffer }>("select inner_hash from unfinished");
    const hashes = [...rows.map(({ inner_hash }) => bytesToHex(inner_hash)), bytesToHex(new Uint8Array(32))];
    const refusal = new GatewayRefusal(code, "no");
    answer = () => {
      throw refusal;
    };
    const { transactionByHash } = held();
    const [known, unknown] = await Promise.all(
      hashes.map((hash) => transactionByHash([hash], caller).catch((error: unknown) => error)),
    );
    if (isFound) expect(known).toMatchObject({ from: SENDER, blockNumber: null });
    else expect(known).toBe(refusal);
    expect(unknown).toBe(refusal);
  });
});
