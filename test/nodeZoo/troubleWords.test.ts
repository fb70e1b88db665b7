import { classifySendError, type NodeError } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { SeededRandom } from "../support/seededRandom.js";
import { randomReply } from "./troubleWords.js";

describe("an answer in random words", () => {
  it("is in no words that the service knows, whatever the seed", () => {
    const errors = Array.from({ length: 20_000 }, (_, seed) => randomReply(new SeededRandom(seed))).flatMap(
      (reply) => (hasMessage(reply) ? [reply.error] : []),
    );
    expect(errors.length).toBeGreaterThan(10_000);
    expect(errors.filter((error) => classifySendError(error).kind !== "disputed")).toEqual([]);
  });
});

function hasMessage(reply: object): reply is { error: NodeError } {
  const { error } = reply as { error?: { message?: unknown } };
  return typeof error?.message === "string";
}
