import type { SocketRequest } from "./socketRequest.js";

/** A frame that was sent on this connection and is not done. */
export interface SentFrame {
  readonly request: SocketRequest;
  /** The positions in the request that the frame's own positions stand for. */
  readonly indexes: readonly number[];
  /** The length in characters. */
  readonly length: number;
  /** `first` and `again` carry transactions or ids; `probe` only asks whether the service still answers. */
  readonly purpose: "first" | "again" | "probe";
}

/** The longest frame, or undefined if there is none. */
export function largestOf(frames: Iterable<SentFrame>): SentFrame | undefined {
  let largest: SentFrame | undefined;
  for (const frame of frames) if (largest === undefined || frame.length > largest.length) largest = frame;
  return largest;
}
