import type { SignedWrapper, WrapOptions, WrapperRequest } from "./wrappers.js";

// What the service and its signing thread say to each other. Byte strings travel as one buffer that is handed over:
// one by one, each would cost about as much as a tenth of its signature.

/** Byte strings, one after the other. */
export interface PackedBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lengths: readonly number[];
}

export interface SignRequest extends WrapOptions {
  readonly id: number;
  readonly inners: PackedBytes;
  readonly nonces: readonly bigint[];
}

export type SignAnswer =
  | { readonly id: number; readonly wrappers: PackedBytes; readonly hashes: PackedBytes }
  | { readonly id: number; readonly error: string };

/** What the thread says when it can be asked. */
export const READY = "ready";

export function pack(parts: readonly Uint8Array[]): PackedBytes {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return { bytes, lengths: parts.map((part) => part.length) };
}

/** The byte strings again, as views of the one buffer. */
export function unpack({ bytes, lengths }: PackedBytes): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return bytes.subarray(at - length, at);
  });
}

export function wrapperRequestsOf({ inners, nonces }: SignRequest): WrapperRequest[] {
  return unpack(inners).map((innerRaw, i) => ({ innerRaw, waiverNonce: the(nonces[i]) }));
}

export function wrappersOf({
  wrappers,
  hashes,
}: {
  readonly wrappers: PackedBytes;
  readonly hashes: PackedBytes;
}): SignedWrapper[] {
  const wrapperHashes = unpack(hashes);
  return unpack(wrappers).map((wrapperRaw, i) => ({
    wrapperRaw,
    wrapperHash: the(wrapperHashes[i]),
  }));
}

/** Both sides send lists of one length. */
function the<T>(element: T | undefined): T {
  if (element === undefined) throw new Error("a message of the signing thread is incomplete");
  return element;
}
