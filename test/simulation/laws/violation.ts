/** The names of the laws that a world can show broken. */
export const LAWS = {
  S1: "failed only on proof",
  S2: "success only for what a node had or showed",
  S3: "no decision on one clock",
  S4: "a lane stops only on proof that persists",
  L1: "nobody pays for another's trouble",
  L4: "no success behind a nonce that stands still",
  told: "an outcome is told",
  D19: "nothing accepted is lost",
} as const;
export type Law = keyof typeof LAWS;

/** A law that a world showed broken, with the facts. */
export interface LawViolation {
  readonly law: Law;
  /** In virtual ms. */
  readonly at: number;
  readonly text: string;
}
