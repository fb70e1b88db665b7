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

/** The subjects of the checks of a database. */
export type DatabaseCheck =
  | "answers"
  | "encryption"
  | "version"
  | "schema"
  | "rights"
  | "sessions"
  | "connections"
  | "durability"
  | "clock";

/** The outcome of one check. All texts are for people and name no secret. */
interface FindingOf<Check> {
  readonly check: Check;
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

/** The outcome of one check of a node, without the node that it is about. */
export type Finding = FindingOf<NodeCheck>;

/** The outcome of one check of a node. */
export interface NodeFinding extends Finding {
  /** The node, shown by its place and origin, or "all" for a finding that concerns all nodes together. */
  readonly node: string;
}

/** The outcome of one check of the database. */
export interface DatabaseFinding extends FindingOf<DatabaseCheck> {
  /** The schema that it is about, where the expected store names one. */
  readonly schema?: string;
}

export function ok<Check>(check: Check, found: string): FindingOf<Check> {
  return { check, verdict: "ok", found };
}

/** The texts of a finding that is not `ok`. */
type Trouble = Pick<Finding, "found" | "means" | "remedy" | "mayPass">;

export function notProven<Check>(check: Check, trouble: Trouble): FindingOf<Check> {
  return { check, verdict: "not proven", ...trouble };
}

export function warning<Check>(check: Check, trouble: Trouble): FindingOf<Check> {
  return { check, verdict: "warning", ...trouble };
}

export function refuses<Check>(check: Check, trouble: Trouble): FindingOf<Check> {
  return { check, verdict: "refuses", ...trouble };
}
