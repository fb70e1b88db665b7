import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { MAX_SNAPSHOT_ITEMS, type NodeClient, type ReceiptAnswer } from "../../chain/client/nodeClient.js";
import { type Candidate, chainOutcomes } from "./chainOutcomes.js";

const WAIVER = bytes(20, 200);
const RECEIPT = { blockNumber: 5n, blockHash: bytes(32, 9), gasUsed: 21_000n, succeeded: true };

/** The user's submission with nonce 4, and a wrapper with the waiver's nonce 7. {@link queuedOf} has no wrapper. */
const candidateOf = (user: number, waiverNonce = 7n): Candidate => ({
  ...queuedOf(user),
  ...{ waiverNonce, wrapperHash: bytes(32, 100 + user) },
});
const queuedOf = (user: number): Candidate => ({
  ...{
    id: `${user}`,
    innerHash: bytes(32, user),
    sender: bytes(20, user),
    senderNonce: 4n,
    signings: 1,
    strikes: 0,
  },
});

interface View {
  /** The receipts by the user. */
  readonly receipts?: Readonly<Record<number, ReceiptAnswer>>;
  /** The next nonces by the user; the waiver is 200. */
  readonly nonces?: Readonly<Record<number, bigint>>;
  /** The waiver's nonce that is read last. */
  readonly nonceAfter?: bigint;
}

/** A node with these views of the chain, one after the other, the last of them from then on. */
function nodeWith(...views: readonly View[]) {
  const sizes: number[] = [];
  const chain: Pick<NodeClient, "snapshot"> = {
    async snapshot(addresses, hashes) {
      const { receipts = {}, nonces = {}, nonceAfter = 100n } = views[sizes.length] ?? views.at(-1) ?? {};
      sizes.push(addresses.length + hashes.length);
      return {
        nonces: addresses.map(([user = 0]) => nonces[user] ?? 0n),
        receipts: hashes.map(([user = 0]) => receipts[user]),
        nonceAfter,
      };
    },
  };
  return { chain, sizes };
}

describe("the outcome of a candidate", () => {
  it("is that of its receipt, in the order of the candidates, and asks for nothing else", async () => {
    const { chain, sizes } = nodeWith({ receipts: { 1: RECEIPT, 2: RECEIPT } });
    const included = { kind: "included", receipt: RECEIPT, foreign: false };
    expect(await chainOutcomes(WAIVER, [candidateOf(1), candidateOf(2)], { chain })).toEqual([
      included,
      included,
    ]);
    expect(sizes).toEqual([3]);
  });

  it("is by the nonces while no node tells a receipt, but for what was never signed", async () => {
    const { chain } = nodeWith({
      receipts: { 1: "unclear", 2: "unclear" },
      nonces: { 200: 8n, 1: 4n, 2: 5n },
    });
    const unsigned = { ...queuedOf(2), signings: 0 };
    const candidates = [candidateOf(1), candidateOf(2), unsigned];
    expect(await chainOutcomes(WAIVER, candidates, { chain })).toEqual([
      { kind: "replaced" },
      { kind: "nonceUsed", next: 5n },
      { kind: "open" },
    ]);
  });

  it("is foreign if the stored wrapper's nonce is still unused after the receipt, or there is no wrapper", async () => {
    const receipts = { 1: RECEIPT, 2: RECEIPT, 3: RECEIPT };
    const { chain } = nodeWith({ receipts, nonceAfter: 8n });
    const candidates = [candidateOf(1, 7n), candidateOf(2, 8n), queuedOf(3)];
    const outcomes = await chainOutcomes(WAIVER, candidates, { chain });
    expect(outcomes.map((outcome) => outcome.kind === "included" && outcome.foreign)).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("without a receipt is by the nonces: the sender's first, then the waiver's", async () => {
    const { chain, sizes } = nodeWith(
      { receipts: { 2: RECEIPT } },
      { nonces: { 200: 8n, 1: 5n, 3: 4n, 4: 4n, 5: 4n } },
    );
    const candidates = [candidateOf(1), candidateOf(2), candidateOf(3), candidateOf(4, 8n), queuedOf(5)];
    expect(await chainOutcomes(WAIVER, candidates, { chain })).toEqual([
      { kind: "nonceUsed", next: 5n },
      { kind: "included", receipt: RECEIPT, foreign: false },
      { kind: "replaced" },
      { kind: "open" },
      { kind: "open" },
    ]);
    expect(sizes).toEqual([6, 9]);
  });

  it("is by the nonces where there is one candidate alone", async () => {
    const { chain } = nodeWith({ nonces: { 1: 5n } });
    expect(await chainOutcomes(WAIVER, [candidateOf(1)], { chain })).toEqual([
      { kind: "nonceUsed", next: 5n },
    ]);
  });

  it("is that of a receipt which comes between the two questions", async () => {
    const { chain } = nodeWith({}, { receipts: { 1: RECEIPT }, nonces: { 1: 5n } });
    expect(await chainOutcomes(WAIVER, [candidateOf(1)], { chain })).toMatchObject([{ kind: "included" }]);
  });

  it("takes as few snapshots as a request has room for", async () => {
    const { chain, sizes } = nodeWith({});
    const candidates = Array.from({ length: MAX_SNAPSHOT_ITEMS }, () => candidateOf(1));
    expect(await chainOutcomes(WAIVER, candidates, { chain })).toHaveLength(MAX_SNAPSHOT_ITEMS);
    const ofTwo = 1 + 2 * Math.floor((MAX_SNAPSHOT_ITEMS - 1) / 2);
    const rest = 1 + 2 * (MAX_SNAPSHOT_ITEMS - (ofTwo - 1));
    expect(sizes).toEqual([MAX_SNAPSHOT_ITEMS, 2, ofTwo, ofTwo, rest]);
  });
});
