/** The time that a service waits before it believes bad news. It is no setting: only tests have another. */
export interface Patience {
  /** The speed of the clock by which a node or a part of the service must be unwell for a while. */
  readonly speed: number;
  /** The longest time that a reader waits for the cause of a revert, in ms: the line or the record of that one submission, and nothing else. */
  readonly causeMs: number;
}

export const PATIENCE: Patience = { speed: 1, causeMs: 250 };

/** @returns a monotonic clock in ms. */
export function patienceClock({ speed }: Patience): () => number {
  return () => speed * performance.now();
}
