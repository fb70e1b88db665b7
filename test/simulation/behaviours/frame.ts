/** The world that behaviours are drawn for. */
export interface Frame {
  readonly replicas: number;
  readonly endpoints: number;
  readonly keys: number;
  readonly senders: number;
  readonly submissions: number;
  /** The time over which users spread their submissions, in ms. */
  readonly busyMs: number;
  readonly reorgDepth: number;
  readonly honest: HonestPart;
  /** The place of the endpoint that stays honest, where one does. */
  readonly honestEndpoint: number;
}

/**
 * The part of a world that stays honest.
 *
 * - `most senders`: behaviours name senders, or what every client must be able to live with.
 * - `an endpoint`: one endpoint works for everybody, always.
 * - `the end`: everything may go wrong, for a while; then all is well.
 * - `nothing`: no promise but safety.
 */
export const HONEST_PARTS = ["most senders", "an endpoint", "the end", "nothing"] as const;
export type HonestPart = (typeof HONEST_PARTS)[number];

/** Returns the time by which behaviours that do not last for good have ended, in ms. */
export const calmAfter = ({ busyMs }: Pick<Frame, "busyMs">) => busyMs - 2_000;

/** The senders that behaviours may name. The others are honest in every world. */
export function namedSenders({ senders }: Pick<Frame, "senders">): number[] {
  return Array.from({ length: Math.ceil(senders / 2) }, (_, i) => i + 1);
}
