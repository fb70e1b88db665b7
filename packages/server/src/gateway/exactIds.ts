import { isObject } from "../chain/rpc/rpc.js";
import { type NumberPlace, parseInSlices } from "../util/slicedJson.js";

/** A number as its client wrote it, which JavaScript would round. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Gives back the ids of a message that parsing has rounded. Nodes answer with the very bytes of an id, and clients in other
 * languages have integers of 64 bits.
 * @param message parsed from `bytes`.
 */
export async function restoreExactIds(message: unknown, bytes: Buffer): Promise<unknown> {
  const requests: readonly unknown[] = Array.isArray(message) ? message : [message];
  if (!requests.some(hasRoundedId)) return message;
  const depthOfId = Array.isArray(message) ? 2 : 1;
  return await parseInSlices(bytes, (text, place) => readNumber(text, place, depthOfId));
}

function hasRoundedId(request: unknown): boolean {
  return isObject(request) && typeof request.id === "number" && !Number.isSafeInteger(request.id);
}

function readNumber(text: string, { depth, key }: NumberPlace, depthOfId: number): number | ExactNumber {
  const value = Number(text);
  const isExact = key !== "id" || depth !== depthOfId || Number.isSafeInteger(value);
  return isExact ? value : new ExactNumber(text);
}
