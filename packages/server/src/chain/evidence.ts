import { classifySendError, type SendVerdict } from "@gas-waiver/protocol";
import { isHash } from "./client/nodeAnswers.js";
import {
  isObject,
  isUnanswered,
  NodeRpcError,
  type RpcOutcome,
  resultIn,
  type SendOutcome,
} from "./rpc/rpc.js";

/*
 * Evidence of what nodes have said of signed bytes (D28). Only this file makes it, from the requests that were sent and the
 * answers that came. So no part of a lane can claim that bytes were sent once, or that a node has them.
 */

declare const made: unique symbol;

/** A signed wrapper as it goes to the nodes. */
export interface SentWrapper {
  readonly wrapperRaw: Uint8Array;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
}

/** The answer to a send, or its absence. */
export interface SendAnswer {
  readonly [made]: "answer";
  readonly verdict: SendVerdict;
  /**
   * `only`: one request has carried these bytes to a node since they were signed, and this is its answer. Otherwise another request
   * may have brought them, so a refusal proves nothing.
   */
  readonly delivery: "only" | "repeated";
  /** A node answered this call. Otherwise the verdict is `disputed` where it answers others, and `ambiguous` where not. */
  readonly isAnswered: boolean;
}

/** The answer to a look-up of a wrapper: the node shows it, says that it has none, or says nothing clear. */
export interface Presence {
  readonly [made]: "presence";
  readonly is: "shown" | "absent" | "unclear";
}

/**
 * The bytes that this process has signed and has not sent. Bytes from the store are other objects, and may have been sent. Bytes that are
 * signed anew under the same nonce equal earlier ones: each request with those was answered as not taken, or the store keeps them as open.
 */
const unsent = new WeakSet<Uint8Array>();

/** Takes note of bytes that this process has just signed under its lease, before they are stored. */
export function noteSigned({ wrapperRaw }: SentWrapper): void {
  unsent.add(wrapperRaw);
}

/** Begins a send. @returns the function that reads the outcomes, in the order of the wrappers. */
export function beginSend(wrappers: readonly SentWrapper[]) {
  const areNew = wrappers.map(({ wrapperRaw }) => unsent.delete(wrapperRaw));
  return (outcomes: readonly SendOutcome[]): SendAnswer[] =>
    wrappers.map(({ wrapperRaw, wrapperHash }, i) => {
      const outcome = outcomes[i];
      const requests = outcome?.requests ?? 0;
      const isNew = areNew[i] === true;
      if (isNew && requests === 0) unsent.add(wrapperRaw);
      const delivery = isNew && requests === 1 ? "only" : "repeated";
      const isAnswered = outcome !== undefined && !isUnanswered(outcome);
      return { verdict: verdictOf(outcome, wrapperHash), delivery, isAnswered } as SendAnswer;
    });
}

function verdictOf(outcome: RpcOutcome | undefined, wrapperHash: Uint8Array): SendVerdict {
  if (outcome === undefined) return { kind: "ambiguous", message: "not sent" };
  if ("error" in outcome) {
    const { error } = outcome;
    if (error instanceof NodeRpcError) return classifySendError(error);
    return { kind: error.isOfCall ? "disputed" : "ambiguous", message: error.message };
  }
  const { result } = outcome;
  if (isHash(result, wrapperHash)) return { kind: "accepted" };
  const shown = JSON.stringify(result)?.slice(0, 80);
  return { kind: "disputed", message: `the node answered ${shown} instead of the transaction's hash` };
}

/** Reads the answer to a look-up of a wrapper by its hash. */
export function presenceOf(outcome: RpcOutcome | undefined, wrapperHash: Uint8Array): Presence {
  const result = resultIn(outcome);
  const isShown = isObject(result) && isHash(result.hash, wrapperHash);
  return { is: isShown ? "shown" : result === null ? "absent" : "unclear" } as Presence;
}
