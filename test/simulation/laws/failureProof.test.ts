import type { Hex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { geth } from "../../nodeZoo/gethNodes.js";
import { hashOfText, type Wrapper } from "../chain/wrapper.js";
import type { Reaction } from "../nodes/reaction.js";
import { SimulatedChain } from "../nodes/simulatedChain.js";
import type { UserSubmission } from "../users/submission.js";
import { ChainLoss } from "./chainLoss.js";
import { EvidenceLedger } from "./evidenceLedger.js";
import { unproven } from "./failureProof.js";

const CLOCK = { now: () => 0, wallMs: () => 0, after() {} };
const address = (name: string) => hashOfText(name).slice(0, 42) as Hex;
const WAIVER = address("waiver");
const SUBMISSION: UserSubmission = {
  ...{
    user: 1,
    sender: address("user"),
    nonce: 0,
    raw: "0x",
    innerHash: hashOfText("inner"),
    wait: "broadcast",
  },
  ...{ triedAt: 0, lines: [], refusals: [], asked: "" },
};

/** The wrapper of the submission under a nonce of the waiver. */
const wrapperAt = (nonce: number): Wrapper => ({
  ...{ hash: hashOfText(`wrapper ${nonce}`), waiver: WAIVER, nonce: BigInt(nonce), innerRaw: "0x" },
  ...{ innerHash: SUBMISSION.innerHash, sender: SUBMISSION.sender, senderNonce: 0n },
});

const answerOf = (reply: object): Reaction => ({
  ...{ kind: "answer", status: 200, isCut: false, delayMs: 0 },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...reply }),
});
const answerWith = (message: string) => answerOf({ error: { code: -32_000, message } });
const resultOf = (result: string) => answerOf({ result });

/** Judges a failure of the submission, after a node has answered each of these sends with an error. */
function judge(reason: string, ...sends: readonly (readonly [nonce: number, error: string])[]) {
  return judgeTold(reason, [], sends);
}

/** @param told the next nonces of the sender that nodes have told before the sends. */
function judgeTold(
  reason: string,
  told: readonly (readonly [place: number, next: string])[],
  sends: readonly (readonly [nonce: number, error: string])[] = [],
) {
  const ledger = new EvidenceLedger(CLOCK, (raw) => wrapperAt(Number(raw)));
  const asked = { id: 1, method: "eth_getTransactionCount", params: [SUBMISSION.sender, "latest"] };
  for (const [place, next] of told)
    ledger.onExchange(place, { calls: [asked], isList: false, isKept: false }, resultOf(next));
  for (const [nonce, message] of sends) {
    ledger.onExchange(
      0,
      { calls: [{ id: 1, method: "eth_sendRawTransaction", params: [nonce] }], isList: false, isKept: false },
      answerWith(message),
    );
  }
  const chain = new SimulatedChain({
    ...{ seed: 1, clock: CLOCK, chainId: 1, blockMs: 1_000, waivers: [WAIVER] },
    nodes: [{ pool: "keeps", personality: geth }],
  });
  const failure = { at: 30_000, reason, message: "it was given up" };
  return unproven(SUBMISSION, failure, {
    ...{ chain, ledger, loss: new ChainLoss(0), submissions: () => [SUBMISSION] },
    ...{ maxQueueMs: 20_000, nonceGapMs: 10_000, lossUntil: 0 },
  })?.law;
}

const NOT_FOR_FREE = "transaction underpriced";
const TOO_LITTLE_GAS = "intrinsic gas too low";
const UNCLEAR = "internal error";

/**
 * Judges that the next submission's nonce came too early, while a wrapper of the first one, accepted at 2 s, is under way.
 * @param reaction the answer to the only request with that wrapper.
 */
function judgeGap(lossUntil: number, reaction: Reaction = { kind: "hang" }) {
  const ledger = new EvidenceLedger(CLOCK, (raw) => wrapperAt(Number(raw)));
  const send = { id: 1, method: "eth_sendRawTransaction", params: [0] };
  ledger.onExchange(0, { calls: [send], isList: false, isKept: false }, reaction);
  const chain = new SimulatedChain({
    ...{ seed: 1, clock: CLOCK, chainId: 1, blockMs: 1_000, waivers: [WAIVER] },
    nodes: [{ pool: "keeps", personality: geth }],
  });
  const next = { ...SUBMISSION, nonce: 1, innerHash: hashOfText("next") };
  const failure = { at: 30_000, reason: "NONCE_GAP", message: "it was given up" };
  return unproven(next, failure, {
    ...{ chain, ledger, loss: new ChainLoss(0) },
    submissions: () => [{ ...SUBMISSION, acceptedAt: 2_000 }],
    ...{ maxQueueMs: 20_000, nonceGapMs: 10_000, lossUntil },
  })?.law;
}

describe("the proof of a failure", () => {
  it("by a missing nonce is there where a failover of the database has lost the submission with that nonce", () => {
    expect(judgeGap(0)).toBe("S1");
    expect(judgeGap(3_000)).toBeUndefined();
  });

  it("by a missing nonce is there where the submission with that nonce has no wrapper that may land, and may have failed", () => {
    expect(judgeGap(0, answerWith(UNCLEAR))).toBe("S1");
    expect(judgeGap(0, answerWith(NOT_FOR_FREE))).toBeUndefined();
  });

  it("by age is there where each request with each wrapper was answered by a rule for which no node has it", () => {
    expect(judge("NOT_BROADCAST")).toBeUndefined();
    expect(judge("NOT_BROADCAST", [0, NOT_FOR_FREE], [1, NOT_FOR_FREE])).toBeUndefined();
    expect(judge("NOT_BROADCAST", [0, NOT_FOR_FREE], [0, NOT_FOR_FREE])).toBeUndefined();
    expect(judge("NOT_BROADCAST", [0, UNCLEAR], [0, NOT_FOR_FREE])).toBe("S1");
    expect(judge("NOT_BROADCAST", [0, NOT_FOR_FREE], [1, UNCLEAR])).toBe("S1");
  });

  it("by the sender's nonce is there where each node that tells it says so, and nothing was sent", () => {
    expect(judgeTold("NONCE_TOO_LOW", [])).toBe("S1");
    expect(judgeTold("NONCE_TOO_LOW", [[0, "0x0"]])).toBe("S1");
    expect(judgeTold("NONCE_TOO_LOW", [[0, "0x1"]])).toBeUndefined();
    const different = [
      [0, "0x1"],
      [1, "0x0"],
    ] as const;
    expect(judgeTold("NONCE_TOO_LOW", different)).toBe("S1");
    expect(judgeTold("NONCE_TOO_LOW", [[0, "0x1"]], [[0, NOT_FOR_FREE]])).toBe("S1");
  });

  it("by a refusal is there where no other wrapper may still land", () => {
    expect(judge("INTRINSIC_GAS_TOO_LOW", [0, TOO_LITTLE_GAS])).toBeUndefined();
    expect(judge("INTRINSIC_GAS_TOO_LOW", [0, NOT_FOR_FREE], [1, TOO_LITTLE_GAS])).toBeUndefined();
    expect(judge("INTRINSIC_GAS_TOO_LOW", [0, UNCLEAR], [1, TOO_LITTLE_GAS])).toBe("S1");
    expect(judge("INTRINSIC_GAS_TOO_LOW", [0, UNCLEAR], [0, TOO_LITTLE_GAS])).toBe("S1");
  });
});
