import type { NodeVerdict } from "./finding.js";

/** The subjects of the checks of a database. */
export type DatabaseCheck =
  | "answers"
  | "encryption"
  | "version"
  | "schema"
  | "rights"
  | "sessions"
  | "durability"
  | "clock";

/** The outcome of one check of the database. No text names a password. */
export interface DatabaseFinding {
  readonly check: DatabaseCheck;
  /** The schema that it is about, where the expected store names one. */
  readonly schema?: string;
  readonly verdict: NodeVerdict;
  readonly found: string;
  /** The consequence for the service; absent if the verdict is `ok`. */
  readonly means?: string;
  readonly remedy?: string;
}
