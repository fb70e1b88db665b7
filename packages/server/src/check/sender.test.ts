import { describe, expect, it } from "vitest";
import { bytes } from "../../test/support/submissions.js";
import type { SenderSubmission } from "../store/submissions/senderSubmissions.js";
import { checkSender, type SenderState, type SenderTransaction } from "./sender.js";

const SENDER = bytes(20, 1);
const hashOf = (name: number) => bytes(32, name);
const workOf = (
  nonce: number,
  name: number,
  state: SenderSubmission["state"] = "queued",
): SenderSubmission => ({
  sender: SENDER,
  nonce: BigInt(nonce),
  innerHash: hashOf(name),
  state,
});

/** @returns the reason of each transaction, given as [nonce, name, value?], that would be refused. */
function reasons(
  transactions: readonly (readonly [nonce: number, name: number, value?: number])[],
  state: Partial<SenderState> = {},
): (string | undefined)[] {
  const senderTransactions = transactions.map(
    ([nonce, name, value = 0], index): SenderTransaction => ({
      index,
      innerHash: hashOf(name),
      nonce: BigInt(nonce),
      value: BigInt(value),
    }),
  );
  const { refused } = checkSender(senderTransactions, {
    sender: SENDER,
    nonce: 0n,
    balance: 0n,
    work: [],
    ...state,
  });
  return senderTransactions.map(({ index }) => refused.get(index)?.reason);
}

describe("the nonces of a sender's transactions", () => {
  it("are checked in ascending order, whatever the order in the request (D20)", () => {
    expect(
      reasons([
        [2, 12],
        [0, 10],
        [1, 11],
      ]),
    ).toEqual([undefined, undefined, undefined]);
  });

  it("are NONCE_TOO_LOW below the account's next nonce", () => {
    expect(
      reasons(
        [
          [2, 1],
          [3, 2],
        ],
        { nonce: 3n },
      ),
    ).toEqual(["NONCE_TOO_LOW", undefined]);
  });

  it("continue behind queued and broadcast submissions, and are a NONCE_GAP beyond that", () => {
    const work = [workOf(3, 1, "broadcast"), workOf(4, 2, "queued")];
    expect(
      reasons(
        [
          [5, 3],
          [7, 4],
        ],
        { nonce: 3n, work },
      ),
    ).toEqual([undefined, "NONCE_GAP"]);
    // A submission behind a gap does not fill the gap.
    expect(reasons([[5, 3]], { nonce: 3n, work: [workOf(4, 2)] })).toEqual(["NONCE_GAP"]);
    expect(
      reasons(
        [
          [3, 3],
          [5, 4],
        ],
        { nonce: 3n, work: [workOf(4, 2)] },
      ),
    ).toEqual([undefined, undefined]);
  });

  it("are a NONCE_CONFLICT with another submission, and with an earlier transaction of the request", () => {
    expect(reasons([[3, 9]], { nonce: 3n, work: [workOf(3, 1, "signed")] })).toEqual(["NONCE_CONFLICT"]);
    expect(
      reasons([
        [0, 1],
        [0, 2],
        [0, 1],
      ]),
    ).toEqual([undefined, "NONCE_CONFLICT", undefined]);
  });

  it("do not matter for a transaction that is a submission already, even an included one (D18)", () => {
    const work = [workOf(0, 1, "included"), workOf(1, 2, "broadcast")];
    expect(
      reasons(
        [
          [0, 1],
          [1, 2],
        ],
        { nonce: 1n, work },
      ),
    ).toEqual([undefined, undefined]);
    expect(reasons([[0, 9]], { work })).toEqual(["NONCE_TOO_LOW"]);
  });

  it("are not filled by a transaction that would be refused", () => {
    expect(
      reasons([
        [0, 1, 5],
        [1, 2],
      ]),
    ).toEqual(["INSUFFICIENT_BALANCE", "NONCE_GAP"]);
  });
});

describe("a sender's balance", () => {
  it("must cover all values together, in the order of the nonces", () => {
    expect(
      reasons(
        [
          [1, 2, 4],
          [0, 1, 6],
        ],
        { balance: 9n },
      ),
    ).toEqual(["INSUFFICIENT_BALANCE", undefined]);
    expect(
      reasons(
        [
          [0, 1, 5],
          [1, 2, 4],
        ],
        { balance: 9n },
      ),
    ).toEqual([undefined, undefined]);
  });

  it("is not reduced by a transaction that is a submission already", () => {
    expect(
      reasons(
        [
          [0, 1, 100],
          [1, 2, 9],
        ],
        { balance: 9n, work: [workOf(0, 1)] },
      ),
    ).toEqual([undefined, undefined]);
  });
});
