/** The bytes of one connection. */
export interface Probe {
  /** The pieces, each written by itself. {@link KNOWN_ID} stands for the id of an existing submission. */
  readonly pieces: readonly Buffer[];
  /** The request, if it is well-formed HTTP. Its answer must agree with the description. */
  readonly request?: { readonly method: string; readonly url: string };
}

export const KEY = "gw_fuzz_c2a07e94b5d81f36e9a4072cd8b1f563";
/** The placeholder for an id of the same length, which {@link withKnownId} inserts. */
export const KNOWN_ID = "00000000-0000-7000-8000-00000000f333";

/** The pieces of a probe with the id of an existing submission. */
export function withKnownId({ pieces }: Probe, id: string): Buffer[] {
  return pieces.map((piece) =>
    piece.includes(KNOWN_ID)
      ? Buffer.from(piece.toString("latin1").replaceAll(KNOWN_ID, id), "latin1")
      : piece,
  );
}
