import pg from "pg";
import { StoreUnavailableError, type TroubleKind } from "./storeTrouble.js";

/** The work in which the driver failed. */
export type DriverPhase = "connect" | "query";

/**
 * Troubles by SQLSTATE: the whole code, or else its class. Some codes also stand for what one statement is to blame for; with the name
 * of PostgreSQL's function, which is the same in all languages, they do not.
 */
const BY_SQLSTATE: Readonly<Record<string, TroubleKind>> = {
  "08": "unreachable",
  "25006": "readOnly",
  // The role or the database has a transaction_timeout.
  "25P04": "cancelled",
  // A statement that the session has not prepared, or has prepared already: another client had the session before.
  "26000": "pooled",
  "42P05": "pooled",
  "28": "login",
  "3D000": "login",
  "42501": "rights",
  // A table, a column, a function, a schema.
  "42P01": "schema",
  "42703": "schema",
  "42883": "schema",
  "3F000": "schema",
  "53": "full",
  "53200 LockAcquireExtended": "locks",
  "53300": "connections",
  "54000 GetNewTransactionId": "wraparound",
  "54000 GetNewMultiXactId": "wraparound",
  "57": "stopping",
  "57014": "cancelled",
  "57P03": "starting",
  "58": "files",
  // A page of a table or an index that is not what PostgreSQL wrote.
  XX001: "files",
  XX002: "files",
  // The function `accept` of the schema: no partition takes the outcome of this id.
  GW001: "clock",
};

/** The limits of connections have one SQLSTATE. In other languages than English, they have one name too. */
const LIMITS: readonly (readonly [RegExp, TroubleKind])[] = [
  [/too many connections for role/, "roleLimit"],
  [/too many connections for database/, "databaseLimit"],
];

/** The driver's own errors have no code. */
const BY_MESSAGE: readonly (readonly [RegExp, TroubleKind])[] = [
  [/timeout/i, "silent"],
  [/\b(?:SSL|TLS)\b|certificate/i, "tls"],
  [/\bSASL\b|password|authentication/i, "login"],
];

/**
 * Names the trouble that a failure of the driver means. Only an answer of the database to a statement concerns that statement;
 * whatever else goes wrong, and whatever goes wrong before a connection is open, is trouble of the store.
 * @returns undefined if the database has refused the statement.
 */
export function driverTrouble(error: unknown, phase: DriverPhase): TroubleKind | undefined {
  if (error instanceof StoreUnavailableError) return error.trouble.kind;
  if (!(error instanceof Error)) return undefined;
  // Bytes that are not PostgreSQL's protocol are a `DatabaseError` without a code.
  if (error instanceof pg.DatabaseError && error.code !== undefined) {
    const kind =
      BY_SQLSTATE[`${error.code} ${error.routine}`] ??
      BY_SQLSTATE[error.code] ??
      BY_SQLSTATE[error.code.slice(0, 2)];
    if (kind === "connections") return ofMessage(error, LIMITS) ?? kind;
    if (phase === "query") return kind;
    return kind === undefined || kind === "rights" ? "login" : kind;
  }
  return ofSystem(error as NodeJS.ErrnoException) ?? ofMessage(error, BY_MESSAGE) ?? "unreachable";
}

/** Whether the database did its work and refused the statement. */
export function isRefusedStatement(error: unknown): boolean {
  return error instanceof pg.DatabaseError && driverTrouble(error, "query") === undefined;
}

/** By the code of the operating system, of the resolver, or of the TLS library, which has one for each check of a certificate. */
function ofSystem({ code, syscall }: NodeJS.ErrnoException): TroubleKind | undefined {
  if (code === undefined || /^ERR_(?!TLS|SSL)/.test(code)) return undefined;
  if (syscall === "getaddrinfo") return "name";
  return code !== "EPROTO" && /^E[A-Z0-9]+$/.test(code) ? "unreachable" : "tls";
}

function ofMessage({ message }: Error, names: typeof BY_MESSAGE): TroubleKind | undefined {
  return names.find(([words]) => words.test(message))?.[1];
}
