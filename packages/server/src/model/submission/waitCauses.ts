// Everything that a lane or a submission waits for longer than some seconds has a name here (L4). The name is in the metric, the log,
// the readiness and the record.

/** The causes for which a whole lane waits. The sentence of a wait has the particulars. */
export const LANE_WAITS = {
  head: "blocks leave out the wrapper with the waiver's next nonce",
  jam: "no node gives up a wrapper that blocks leave out: restart the pools, or run `gas-waiver lanes cancel`",
  block: "the chain makes no blocks",
  lag: "the nodes lack final blocks of the lane",
  nodes: "no node answers the lane's wrappers clearly",
  store: "the store does not take what the chain has shown, or what the lane has signed",
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
const OWN_WAITS = {
  "left out": "blocks left out its wrapper, or show it as failed; it is tried again after a pause",
  "not taken": "no node has taken its wrapper; it is tried again after a pause",
  "in doubt": "the chain has used its wrapper's nonce, and no node shows what became of it",
  "earlier nonce": "the sender's earlier nonce has not come, or no node tells the sender's nonce",
} as const;

export type OwnWait = keyof typeof OWN_WAITS;

/** Makes the sentence of what a submission waits for. */
export function waitSentence(wait: string): string {
  return isOwnWait(wait) ? OWN_WAITS[wait] : wait;
}

export function isOwnWait(wait: string): wait is OwnWait {
  return Object.hasOwn(OWN_WAITS, wait);
}

/** The next step of an operator for each cause, of a lane or of a submission alone. */
export const NEXT_STEPS: Readonly<Record<LaneWaitCause | OwnWait, string>> = {
  head: "Nothing yet: the lane sends the same bytes again, and other lanes take what waits. If it lasts, restart the node's pool.",
  jam: "Run `gas-waiver lanes cancel`, restart the pools of the nodes, or add a second waiver key.",
  block: "Look at the chain and its nodes; everything that is stored goes on with the next block.",
  lag: "Wait until a node of `--rpc-url` has caught up, or name another one.",
  nodes:
    "Look at the nodes of `--rpc-url`: `gas-waiver node check`. The same bytes go out again by themselves.",
  store:
    "Mend the database, whose own words are in the log: what it could not store is in the chain or in the queue, and is stored then.",
  custody: "Look at the custody of this waiver: its log, its quota, its permissions.",
  policy: "Register the waiver, or correct its targets: `gas-waiver governance list`.",
  room: "Wait for blocks; raise `--max-in-flight` if the nodes' pools take more.",
  "left out": "Nothing: it is signed again. If it goes on, ask the validators why they leave it out.",
  "not taken": "Read what the node said. It is tried again until `--max-queue-time` ends it.",
  "in doubt":
    "`gas-waiver lanes doctor` compares store and chain; a node with the whole history shows the outcome.",
  "earlier nonce": "The sender must send its missing nonce; otherwise it ends with NONCE_GAP.",
};
