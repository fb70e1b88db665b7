// Everything that a lane or a submission waits for longer than some seconds has a name here (L4). The name is in the metric, the log,
// the readiness and the record.

/** The causes for which a whole lane waits. The sentence of a wait has the particulars. */
export const LANE_WAITS = {
  head: "blocks leave out the wrapper with the waiver's next nonce",
  jam: "no node gives up a wrapper that blocks leave out: restart the pools, or run `gas-waiver lanes cancel`",
  block: "the chain makes no blocks",
  lag: "the nodes lack final blocks of the lane",
  nodes: "no node answers the lane's wrappers clearly",
  custody: "the custody does not sign",
  policy: "the policies permit the waiver nothing",
  room: "as many wrappers as `--max-in-flight` allows wait for blocks",
} as const;

export type LaneWaitCause = keyof typeof LANE_WAITS;

/** The wait of a lane. */
export interface LaneWait {
  readonly cause: LaneWaitCause;
  /** For a person. */
  readonly sentence: string;
}

/** The causes for which one submission waits, by the names that the store gives (`wait_of`). */
const OWN_WAITS: Readonly<Record<string, string>> = {
  "left out": "blocks left out its wrapper; it is tried again after a pause",
  "not taken": "no node has taken its wrapper; it is tried again after a pause",
  "in doubt": "the chain has used its wrapper's nonce, and no node shows what became of it",
  "earlier nonce": "the sender's earlier nonce has not come, or no node tells the sender's nonce",
};

/** Makes the sentence of what a submission waits for. */
export function waitSentence(wait: string): string {
  return OWN_WAITS[wait] ?? wait;
}
