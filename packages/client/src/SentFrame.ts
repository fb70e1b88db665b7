import type { SocketRequest } from "./SocketRequest.js";

/** A frame that was sent on this connection and is not done. */
export interface SentFrame {
  readonly request: SocketRequest;
  /** The frame's positions, as the request has them. */
  readonly indexes: readonly number[];
  /** In characters. */
  readonly length: number;
  /** `again`: the caller counts on it already. `life`: it only asks whether the service goes on. */
  readonly purpose: "first" | "again" | "life";
}

export function largestOf(frames: Iterable<SentFrame>): SentFrame | undefined {
  let largest: SentFrame | undefined;
  for (const frame of frames) if (largest === undefined || frame.length > largest.length) largest = frame;
  return largest;
}
