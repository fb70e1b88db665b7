import { type Caller, partyOf } from "../model/keys/caller.js";
import { PRICES } from "../model/prices.js";
import { type LoopQueue, SMALL } from "../util/loopQueue.js";
import type { ServiceRules } from "./rules.js";
import { type Validation, validateTransaction } from "./validateTransaction.js";

/** The transactions that are validated together cost no more than this, in µs, or are one. */
const PIECE_US = 500;
/** A request of so few transactions is small. */
const SMALL_REQUEST = 5;

/** Names the part of a party that a request of so many transactions is of. */
export function partOfRequest(size: number): typeof SMALL | "" {
  return size <= SMALL_REQUEST ? SMALL : "";
}

export interface TurnsOfRequest {
  readonly caller: Caller;
  readonly rules: ServiceRules;
  /** The transactions of the request. */
  readonly size: number;
  readonly loop: LoopQueue;
  /** Asked before each piece. */
  isStopping(): boolean;
}

/**
 * Validates transactions of a request, a few at a time, as the parties take turns. To validate one takes the processor for as long
 * as a query takes, and a lane waits for one query after the other.
 * @returns undefined if the service shuts down meanwhile.
 */
export async function validateInTurns(
  texts: readonly string[],
  { caller, rules, size, loop, isStopping }: TurnsOfRequest,
): Promise<Validation[] | undefined> {
  const validations: Validation[] = [];
  const party = partyOf(caller);
  while (validations.length < texts.length) {
    const piece = nextPiece(texts, validations.length);
    const validated = await loop.run(
      party,
      priceOf(piece),
      () => (isStopping() ? undefined : piece.map((text) => validateTransaction(text, rules))),
      partOfRequest(size),
    );
    if (validated === undefined) return undefined;
    validations.push(...validated);
  }
  return validations;
}

function nextPiece(texts: readonly string[], from: number): readonly string[] {
  let to = from + 1;
  while (to < texts.length && priceOf(texts.slice(from, to + 1)) <= PIECE_US) to++;
  return texts.slice(from, to);
}

function priceOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + PRICES.check + length * PRICES.checkedByte, 0);
}
