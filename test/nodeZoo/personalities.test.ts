// The words and refusals of real nodes, as the zoo speaks them, against the tables that the service reads them by.
import { classifySendError } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { readAnswers } from "../../packages/server/src/chain/rpc/batchAnswer.js";
import type { Exchange } from "./exchange.js";
import { PERSONALITIES } from "./personalities.js";
import type { Refusal } from "./personality.js";

const values = { nonce: "7", expected: "5", hash: `0x${"ab".repeat(32)}` };
const low = { ...values, nonce: "3" };
const names = PERSONALITIES.map((personality) => [personality.name, personality] as const);

const exchange: Exchange = {
  calls: Array.from({ length: 4 }, (_, id) => ({ id, method: "eth_sendRawTransaction", params: [] })),
  isBatch: true,
  bytes: 9_000,
};

describe.each(names)("the words of %s", (_, personality) => {
  const meaningOf = (refusal: Refusal) =>
    classifySendError(personality.words[refusal](refusal === "WRAPPER_NONCE_TOO_LOW" ? low : values)).kind;

  it("have the meanings by which the service decides about a wrapper", () => {
    expect({
      known: meaningOf("ALREADY_KNOWN"),
      low: meaningOf("WRAPPER_NONCE_TOO_LOW"),
      gap: meaningOf("WRAPPER_NONCE_GAP"),
      replaced: meaningOf("REPLACEMENT_UNDERPRICED"),
    }).toEqual({ known: "already known", low: "nonce too low", gap: "nonce gap", replaced: "occupied" });
  });

  it("never end a submission because of the node's own trouble", () => {
    const troubles = [...personality.troubles, personality.words.POOL_FULL(values)];
    const kinds = troubles.map((trouble) => [trouble.message, classifySendError(trouble).kind]);
    expect(kinds.filter(([, kind]) => kind === "refused")).toEqual([]);
  });
});

describe.each(names)("the size limits of %s", (_, personality) => {
  type Refusal = { readonly status: number; readonly body: string };
  const outcomesOf = ({ status, body }: Refusal) =>
    readAnswers({ status, text: body, requests: 1 }, [0, 1, 2, 3], true);
  const NONE = [undefined, undefined, undefined, undefined];

  it("say nothing of any call in a request that exceeds one", () => {
    expect(outcomesOf(personality.tooManyCalls(exchange, 2))).toEqual(NONE);
    expect(outcomesOf(personality.tooManyBytes(exchange, 5_000))).toEqual(NONE);
  });

  it("leave open whether the calls were made if only the answer was too large", () => {
    const made = [{ result: "0x1" }, { result: "0x2" }];
    const outcomes = outcomesOf(personality.responseTooLarge(exchange, made, 20));
    expect(outcomes.slice(2)).toEqual([undefined, undefined]);
  });
});
