import { concatBytes } from "@gas-waiver/protocol";
import type { KeySigningOptions, SignedWrapper, WrapperRequest } from "./wrappers.js";

// The messages between the service and its signing thread. All byte strings of a message travel in one buffer that is
// transferred: copying each one separately would take about a tenth of the time of its signature.

/** Byte strings, one after the other. */
export interface PackedBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: readonly number[];
}

export interface SignRequest extends KeySigningOptions {
  readonly id: number;
  readonly inners: PackedBytes;
  /** The waiver nonces of the wrappers, in the order of `inners`. */
  readonly nonces: readonly bigint[];
}

interface SignedBatch {
  readonly id: number;
  readonly wrappers: PackedBytes;
  readonly hashes: PackedBytes;
}

export type SignAnswer = SignedBatch | { readonly id: number; readonly error: string };
/** The thread's first message: it takes requests from now on. */
export const READY = "ready";

export function pack(parts: readonly Uint8Array[]): PackedBytes {
  return {
    bytes: concatBytes(...parts) as Uint8Array<ArrayBuffer>,
    lengths: parts.map((part) => part.length),
  };
}

/** Undoes {@link pack}. The byte strings are views of the one buffer. */
export function unpack({ bytes, lengths }: PackedBytes): Uint8Array[] {
  let offset = 0;
  return lengths.map((length) => {
    offset += length;
    return bytes.subarray(offset - length, offset);
  });
}

export function wrapperRequestsOf({ inners, nonces }: SignRequest): WrapperRequest[] {
  return unpack(inners).map((innerRaw, i) => ({ innerRaw, waiverNonce: defined(nonces[i]) }));
}

export function signedWrappersOf({ wrappers, hashes }: SignedBatch): SignedWrapper[] {
  const wrapperHashes = unpack(hashes);
  return unpack(wrappers).map((wrapperRaw, i) => ({ wrapperRaw, wrapperHash: defined(wrapperHashes[i]) }));
}
/** Returns the element of a list whose length the other side promises. */
function defined<T>(element: T | undefined): T {
  if (element === undefined) throw new Error("a message of the signing thread is incomplete");
  return element;
}
