/** The work of the lanes of all replicas, by the last poll of the store. */
export interface UnfinishedWork {
  /** The number of submissions that are queued, signed or broadcast. */
  readonly count: number;
  /** The age of the oldest queued submission, in ms; 0 without one. */
  readonly oldestQueuedMs: number;
}
