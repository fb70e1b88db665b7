import type { SendVerdict, SendVerdictKind } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import type { Presence, SendAnswer } from "../../chain/evidence.js";
import type { NonceUse } from "../../chain/nonceUse.js";
import { type Decision, decide, type Evidence, type Expiry } from "./law.js";

const BOOLEANS = [false, true];
const message = "the node's message";
const KINDS: Record<SendVerdictKind, SendVerdict> = {
  accepted: { kind: "accepted" },
  "already known": { kind: "already known", message },
  "nonce too low": { kind: "nonce too low" },
  "nonce gap": { kind: "nonce gap" },
  "inner too early": { kind: "inner too early" },
  "inner too late": { kind: "inner too late" },
  occupied: { kind: "occupied", message },
  "not now": { kind: "not now", message },
  "waiver unusable": { kind: "waiver unusable", message },
  disputed: { kind: "disputed", message },
  ambiguous: { kind: "ambiguous", message },
  refused: { kind: "refused", reason: "NODE_REFUSED", message, values: { nodeCode: -32_000 } },
};

const USE: NonceUse = {
  nonce: 4n,
  by: "sender",
  blockTransactions: [],
  transaction: {
    hash: new Uint8Array(32).fill(7),
    from: new Uint8Array(20).fill(1),
    nonce: 4n,
    to: undefined,
    input: new Uint8Array(),
  },
  blockNumber: 12n,
  blockHash: new Uint8Array(32).fill(9),
};
const USES = [undefined, { ...USE, isOurs: true }, { ...USE, isOurs: false }];
/** The wrapper itself may have failed in the block. */
const FAILURE = { reason: "NODE_REFUSED", message: "it failed in block 12" } as const;
const WAIVER_USES = [...USES, { ...USE, isOurs: false, failure: FAILURE }];
/** The law decides by an authorization as by a transaction, so that one kind stands for both below. */
const AUTHORIZED = { ...USE, by: "authorization", isOurs: false } as const;
const EXPIRIES: (Expiry | undefined)[] = [
  undefined,
  { kind: "nonce gap", failure: { reason: "NONCE_GAP", message: "nonce 5 is ahead" } },
  { kind: "cap reached", failure: { reason: "CAP_EXCEEDED", message: "the day's gas is used" } },
  { kind: "nonce past", senderNonce: 3n, next: 4n },
];

/** A queued submission may be over its time, and one in flight misplaced. */
const MISPLACEMENTS = [undefined, "sender gap", "stranded"] as const;
const EXPIRIES_AND_MISPLACEMENTS = EXPIRIES.flatMap((expiry) =>
  MISPLACEMENTS.map((misplaced) => [expiry, misplaced] as const),
);

const DELIVERIES = ["only", "repeated"] as const;
const answerOf = (verdict: SendVerdict, delivery: SendAnswer["delivery"]) =>
  ({ verdict, delivery }) as SendAnswer;

function* answers(): Generator<Pick<Evidence, "answer" | "isForgotten">> {
  yield {};
  for (const verdict of Object.values(KINDS))
    for (const delivery of DELIVERIES)
      for (const isForgotten of BOOLEANS) yield { answer: answerOf(verdict, delivery), isForgotten };
}

/** Every combination of evidence that there is. */
function* everyEvidence(): Generator<Evidence> {
  for (const state of ["queued", "signed", "broadcast"] as const)
    for (const openWrappers of [0, 1, 3])
      for (const hasReceipt of BOOLEANS)
        for (const senderNonceUse of USES)
          for (const waiverNonceUse of WAIVER_USES)
            for (const answer of answers())
              for (const [expiry, misplaced] of EXPIRIES_AND_MISPLACEMENTS)
                yield {
                  state,
                  openWrappers,
                  hasReceipt,
                  ...(senderNonceUse && { senderNonceUse }),
                  ...(waiverNonceUse && { waiverNonceUse }),
                  ...answer,
                  ...(expiry && { expiry }),
                  ...(misplaced && { misplaced }),
                };
}

const ALL = [...everyEvidence()].map((evidence) => ({ evidence, decision: decide(evidence) }));
/** The first case suffices to see what is wrong: a broken clause has hundreds. */
const firstCaseWhere = (holds: (evidence: Evidence, decision: Decision) => boolean) =>
  ALL.find(({ evidence, decision }) => holds(evidence, decision));
const isSent = ({ state }: Evidence) => state !== "queued";

describe("the law, over every combination of evidence", () => {
  it("includes with a receipt, and never without one", () => {
    expect(firstCaseWhere((e, d) => (e.hasReceipt === true) !== (d.move === "include"))).toBeUndefined();
  });

  const hasFailedInBlock = (e: Evidence) =>
    isSent(e) && e.openWrappers === 0 && e.waiverNonceUse?.failure !== undefined;

  it("fails only by proof of a nonce, by the one clear refusal, or by time with nothing open", () => {
    const isProven = (e: Evidence) => e.senderNonceUse?.isOurs === false || hasFailedInBlock(e);
    const isRefused = (e: Evidence) =>
      e.state === "signed" &&
      e.openWrappers === 0 &&
      e.answer?.delivery === "only" &&
      e.answer.verdict.kind === "refused";
    const isOver = (e: Evidence) => e.state === "queued" && e.openWrappers === 0 && e.expiry !== undefined;
    expect(
      firstCaseWhere((e, d) => d.move === "fail" && !isProven(e) && !isRefused(e) && !isOver(e)),
    ).toBeUndefined();
    expect(firstCaseWhere((e, d) => d.move === "fail" && isProven(e))).toBeDefined();
  });

  it("fails nothing of which a wrapper may land, but by proof that its InnerTx can never run", () => {
    const mayLand = (e: Evidence) => e.openWrappers > 0 || (e.state === "broadcast" && !hasFailedInBlock(e));
    expect(firstCaseWhere((e, d) => mayLand(e) && d.move === "fail" && d.clause !== "L2")).toBeUndefined();
  });

  it("fails nothing for an unclear answer, whatever else is known", () => {
    const isUnclear = (e: Evidence) => e.answer !== undefined && e.answer.verdict.kind !== "refused";
    expect(
      firstCaseWhere(
        (e, d) => isSent(e) && isUnclear(e) && d.move === "fail" && d.clause !== "L2" && !hasFailedInBlock(e),
      ),
    ).toBeUndefined();
  });

  it("never moves what a final block shows as ours: it waits for the receipt", () => {
    const isOnChain = (e: Evidence) => e.senderNonceUse?.isOurs === true && e.hasReceipt !== true;
    expect(firstCaseWhere((e, d) => isOnChain(e) && d.move !== "stay")).toBeUndefined();
  });

  it("decides the same without the evidence that is for another state", () => {
    const without = ({ answer: _, ...rest }: Evidence): Evidence => rest;
    expect(
      firstCaseWhere(
        (e, d) =>
          e.state === "queued" && JSON.stringify(decide(without(e))) !== JSON.stringify(d, bigintAsText),
      ),
    ).toBeUndefined();
  });

  it("calls a wrapper dead only by proof, and not taken only by the answer to its only send", () => {
    const isClosed = (d: Decision) => d.move === "requeue" && !d.isOpen;
    const isDead = (e: Evidence) => e.waiverNonceUse?.isOurs === false;
    const isOnlySend = (e: Evidence) => e.state === "signed" && e.answer?.delivery === "only";
    expect(firstCaseWhere((e, d) => isClosed(d) && !isDead(e) && !isOnlySend(e))).toBeUndefined();
  });

  it("frees no nonce of a wrapper that the chain or a pool may hold for good", () => {
    const kinds = new Set<SendVerdictKind | undefined>([
      "nonce too low",
      "occupied",
      "accepted",
      "already known",
    ]);
    const isFull = ({ state, answer }: Evidence) =>
      state === "broadcast" && answer?.verdict.kind === "not now";
    const isHeld = (e: Evidence) =>
      (kinds.has(e.answer?.verdict.kind) || isFull(e)) &&
      e.waiverNonceUse === undefined &&
      e.misplaced === undefined;
    const isForgotten = (e: Evidence) => e.answer?.verdict.kind === "already known" && e.isForgotten === true;
    expect(firstCaseWhere((e, d) => isHeld(e) && !isForgotten(e) && d.move === "requeue")).toBeUndefined();
  });

  it("queues what is misplaced again, as open, unless the chain shows more", () => {
    const isQueuedAgain = (d: Decision) => d.move === "requeue" && d.clause === "L10";
    const isBare = (e: Evidence) => isSent(e) && !e.hasReceipt && !e.senderNonceUse && !e.waiverNonceUse;
    expect(
      firstCaseWhere((e, d) => isQueuedAgain(d) !== (isBare(e) && e.misplaced !== undefined)),
    ).toBeUndefined();
    expect(firstCaseWhere((_, d) => isQueuedAgain(d) && d.move === "requeue" && !d.isOpen)).toBeUndefined();
  });

  it("sets nothing aside without an answer, and nothing that a node has taken before", () => {
    const isSetAside = (d: Decision) => d.move === "requeue" && d.clause === "L8";
    const mayBe = (e: Evidence) => e.state === "signed" && e.answer?.verdict.kind !== "ambiguous";
    expect(firstCaseWhere((e, d) => isSetAside(d) && !mayBe(e))).toBeUndefined();
  });
});

describe("the answer to a send", () => {
  const CLOSED = "requeue L7 closed";
  const REQUEUED_OPEN = "requeue L7 open";
  const ASIDE = "requeue L8 open";
  const [RESEND, STAY, BROADCAST] = ["resend L8", "stay L11", "broadcast L5"];
  /** The decisions: signed, to the only delivery; signed, to a repeated one; broadcast. */
  const DECISIONS: Record<SendVerdictKind, readonly [string, string, string]> = {
    accepted: [BROADCAST, BROADCAST, BROADCAST],
    "already known": [RESEND, RESEND, STAY],
    "nonce too low": [RESEND, RESEND, STAY],
    occupied: [RESEND, RESEND, STAY],
    "nonce gap": [CLOSED, REQUEUED_OPEN, STAY],
    "inner too early": [CLOSED, REQUEUED_OPEN, STAY],
    "inner too late": [CLOSED, REQUEUED_OPEN, STAY],
    "waiver unusable": [CLOSED, REQUEUED_OPEN, STAY],
    "not now": [ASIDE, ASIDE, STAY],
    disputed: [ASIDE, ASIDE, STAY],
    ambiguous: [RESEND, RESEND, STAY],
    refused: ["fail L6", ASIDE, STAY],
  };
  const decisionOf = (
    state: "signed" | "broadcast",
    [verdict, delivery]: readonly [SendVerdict, SendAnswer["delivery"]],
    openWrappers = 0,
  ) => {
    const decision = decide({ state, openWrappers, answer: answerOf(verdict, delivery) });
    const isOpen = decision.move === "requeue" ? (decision.isOpen ? " open" : " closed") : "";
    return `${decision.move} ${decision.clause}${isOpen}`;
  };

  it.each(Object.values(KINDS))("has its decision in each state: $kind", (verdict) => {
    expect([
      decisionOf("signed", [verdict, "only"]),
      decisionOf("signed", [verdict, "repeated"]),
      decisionOf("broadcast", [verdict, "repeated"]),
    ]).toEqual(DECISIONS[verdict.kind]);
    expect(decisionOf("broadcast", [verdict, "only"])).toBe(DECISIONS[verdict.kind][2]);
  });

  it("that knows the wrapper sets it aside where look-ups have not found it for some seconds", () => {
    const answer = answerOf(KINDS["already known"], "repeated");
    const moves = (["signed", "broadcast"] as const).map((state) =>
      decide({ state, openWrappers: 0, answer, isForgotten: true }),
    );
    expect(moves).toMatchObject([{ clause: "L8", isOpen: true }, { move: "stay" }]);
  });

  it("that refuses the only send while an earlier wrapper may land queues the submission again", () => {
    expect(decisionOf("signed", [KINDS.refused, "only"], 1)).toBe(CLOSED);
    expect(decisionOf("signed", [KINDS.refused, "repeated"], 1)).toBe(ASIDE);
  });
});

describe("a look-up", () => {
  it("that shows the wrapper is as good as its hash in answer to a send, and any other is no evidence", () => {
    const movesBy = (is: Presence["is"]) => {
      const presence = { is } as Presence;
      return (["queued", "signed", "broadcast"] as const).map(
        (state) => decide({ state, openWrappers: 0, presence }).move,
      );
    };
    expect(movesBy("shown")).toEqual(["stay", "broadcast", "broadcast"]);
    for (const is of ["absent", "unclear"] as const) expect(movesBy(is)).toEqual(["stay", "stay", "stay"]);
  });
});

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

describe("a decision", () => {
  const signed: Evidence = { state: "signed", openWrappers: 0 };
  it("names the rule of a clear refusal", () => {
    expect(decide({ ...signed, answer: answerOf(KINDS.refused, "only") })).toEqual({
      move: "fail",
      clause: "L6",
      failure: {
        reason: "NODE_REFUSED",
        message: "the chain's node refused the transaction: the node's message",
        values: { nodeCode: -32_000 },
      },
    });
  });

  it("names the transaction that used the sender's nonce, and its block", () => {
    const decision = decide({ ...signed, senderNonceUse: { ...USE, isOurs: false } });
    const usedBy = `0x${"07".repeat(32)}`;
    const message = `nonce 4 is already used: by transaction ${usedBy} in block 12`;
    const failure = {
      reason: "NONCE_TOO_LOW",
      message,
      values: { nonce: "4", expected: "5", usedBy, blockNumber: "12" },
    };
    expect(decision).toEqual({ move: "fail", clause: "L2", failure });
  });

  it("names the transaction that has the sender's authorization, where that used the nonce", () => {
    const usedBy = `0x${"07".repeat(32)}`;
    const message = `nonce 4 is already used: by an authorization (EIP-7702) in transaction ${usedBy} in block 12`;
    const values = { nonce: "4", expected: "5", usedBy, blockNumber: "12" };
    for (const state of ["queued", "signed", "broadcast"] as const)
      expect(decide({ state, openWrappers: 3, senderNonceUse: AUTHORIZED })).toEqual({
        move: "fail",
        clause: "L2",
        failure: { reason: "NONCE_TOO_LOW", message, values },
      });
    expect(decide({ ...signed, waiverNonceUse: AUTHORIZED })).toMatchObject({ clause: "L4", isOpen: false });
  });

  it("names the reason for which a queued submission cannot go on", () => {
    const expired = (expiry: Expiry | undefined) =>
      decide({ state: "queued", openWrappers: 0, ...(expiry && { expiry }) });
    expect(expired(EXPIRIES[1])).toMatchObject({ failure: { reason: "NONCE_GAP" } });
    expect(expired(EXPIRIES[2])).toMatchObject({ failure: { reason: "CAP_EXCEEDED" } });
    expect(expired(EXPIRIES[3])).toMatchObject({ failure: { reason: "NONCE_TOO_LOW" } });
  });
});
