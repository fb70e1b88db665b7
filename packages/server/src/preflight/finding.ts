/**
 * The verdict of a check of a node:
 *
 * - `ok`: it is as the service needs it.
 * - `not proven`: nothing could be seen either way, such as a lookup on a chain without transactions.
 * - `warning`: the service works, slower or with less than it could have.
 * - `refuses`: it would break what the service guarantees, so the service does not start. Only for a node that does not
 *   answer it starts all the same.
 */
export type NodeVerdict = "ok" | "not proven" | "warning" | "refuses";

/** The subjects of the checks, in the order in which they are shown. */
export const NODE_CHECKS = [
  "answers",
  "chain",
  "sync",
  "head",
  "clock",
  "batches",
  "lookups",
  "history",
  "finality",
  "one chain",
  "lag",
  "waivers",
  "price 0",
] as const;
export type NodeCheck = (typeof NODE_CHECKS)[number];

/** The outcome of one check. All texts are for people and name no secret: a node is shown by its place and origin. */
export interface NodeFinding {
  readonly check: NodeCheck;
  /** The node, or "all" for what concerns all of them together. */
  readonly node: string;
  readonly verdict: NodeVerdict;
  /** The observation. */
  readonly found: string;
  /** The consequence for the service; absent if the verdict is `ok`. */
  readonly means?: string;
  /** The remedy that an operator has. */
  readonly remedy?: string;
  /** True if it may pass by itself, as syncing does. */
  readonly mayPass?: boolean;
}

/** A finding without the node that it is about. */
export type Finding = Omit<NodeFinding, "node">;

export function ok(check: NodeCheck, found: string): Finding {
  return { check, verdict: "ok", found };
}

/** The texts of a finding that is not `ok`. */
type Trouble = Pick<NodeFinding, "found" | "means" | "remedy" | "mayPass">;

export function notProven(check: NodeCheck, trouble: Trouble): Finding {
  return { check, verdict: "not proven", ...trouble };
}

export function warning(check: NodeCheck, trouble: Trouble): Finding {
  return { check, verdict: "warning", ...trouble };
}

export function refuses(check: NodeCheck, trouble: Trouble): Finding {
  return { check, verdict: "refuses", ...trouble };
}
