/** What one connection sends. */
export interface Probe {
  /** The pieces, each written by itself; {@link KNOWN_ID} stands for the id of a submission that there is. */
  readonly pieces: readonly Buffer[];
  /** The request whose answer can be held to the description, where it is one that HTTP clients could send. */
  readonly asked?: { readonly method: string; readonly url: string };
}

export const KEY = "gw_test_fuzz_public";
/** Replaced by an id of the same length just before it is sent. */
export const KNOWN_ID = "00000000-0000-7000-8000-00000000f333";

/** The probe with the id of a submission that there is. */
export function withKnownId({ pieces }: Probe, id: string): Buffer[] {
  return pieces.map((piece) =>
    piece.includes(KNOWN_ID)
      ? Buffer.from(piece.toString("latin1").replaceAll(KNOWN_ID, id), "latin1")
      : piece,
  );
}
