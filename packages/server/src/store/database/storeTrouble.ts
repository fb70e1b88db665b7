import { ProtocolError } from "@gas-waiver/protocol";

/** The reasons for which the database cannot do its work, each with a sentence for clients and advice for the operator. */
const TROUBLES = {
  unreachable: {
    message: "the store does not answer",
    advice: "see whether PostgreSQL runs and whether DATABASE_URL leads to it",
  },
  name: {
    message: "the store's name leads to no address",
    advice: "see whether the host of DATABASE_URL is right, and whether this machine's name server works",
  },
  tls: {
    message: "the store's TLS connection cannot be made",
    advice:
      "see whether PostgreSQL has ssl = on, and a certificate that is valid now, for this host, by an authority of sslrootcert",
  },
  silent: {
    message: "the store gave no answer in time",
    advice: "see whether PostgreSQL is overloaded, frozen, or waits for a synchronous standby",
  },
  starting: {
    message: "the store is starting or recovering",
    advice: "nothing is to be done if that ends soon",
  },
  stopping: {
    message: "the store is being shut down or restarted",
    advice: "nothing is to be done if it comes back",
  },
  connections: {
    message: "the store has no connection left for this service",
    advice: "raise PostgreSQL's max_connections, or lower the numbers of connections of the replicas",
  },
  roleLimit: {
    message: "the store has no connection left for this service: its role has a limit",
    advice: "see `select rolname, rolconnlimit from pg_roles`, and run `alter role … connection limit -1`",
  },
  databaseLimit: {
    message: "the store has no connection left for this service: its database has a limit",
    advice:
      "see `select datname, datconnlimit from pg_database`, and run `alter database … connection limit -1`",
  },
  busy: {
    message: "all connections of this service to the store are in use",
    advice: "raise the number of connections of this role, or find what makes PostgreSQL slow",
  },
  blocked: {
    message: "another program keeps locked what the store needs",
    advice:
      "end the session that the log names, where it runs or by pg_terminate_backend(pid), or a prepared transaction by rollback prepared",
  },
  readOnly: {
    message: "the store is read-only, as a standby or a demoted primary is",
    advice:
      "let DATABASE_URL lead to the primary; if it does, its default_transaction_read_only is on, as some hosts set it when the disk is full",
  },
  rights: {
    message: "the store denies what this service needs to its role",
    advice:
      "let the role of DATABASE_URL own the store's tables and functions, as after `reassign owned by OLD to NEW`, without row-level security",
  },
  schema: {
    message: "the store lacks tables or functions of this service",
    advice:
      "see whether DATABASE_URL and --schema lead to the store, and start the service again if they do: it brings the tables to its version",
  },
  pooled: {
    message: "the store is behind a pooler that changes sessions between transactions",
    advice: "set the pooler to session mode (pool_mode = session), or connect to PostgreSQL directly",
  },
  cancelled: {
    message: "the store gave a statement up",
    advice: "look for a program or a pooler that cancels this service's statements",
  },
  full: {
    message: "the store has no room left",
    advice: "give PostgreSQL more disk or memory",
  },
  locks: {
    message: "the store has no room for further locks",
    advice: "raise PostgreSQL's max_locks_per_transaction, or keep outcomes for fewer days (--retention)",
  },
  wraparound: {
    message: "the store has no transaction ids left",
    advice:
      "end what holds the oldest ones back (long transactions, pg_prepared_xacts, pg_replication_slots), and vacuum the database that PostgreSQL's log names",
  },
  files: {
    message: "the store cannot read or write one of its files",
    advice: "see PostgreSQL's log and its disk",
  },
  login: {
    message: "the store refuses this service's login",
    advice: "see whether user, password and database of DATABASE_URL are valid there",
  },
  noStandby: {
    message: "the store's synchronous standby is away, so nothing can be kept safely",
    advice: "bring the synchronous standby back, or change synchronous_standby_names",
  },
  notSynchronous: {
    message: "the store has no synchronous standby, which this service requires",
    advice: "set synchronous_standby_names, or start without --require-synchronous-standby",
  },
  clock: {
    message: "the store has no place for the outcomes of the present: its clock may be days away",
    advice:
      "set the clocks of the database and of this machine, or see in the log why the days of outcomes could not be made",
  },
  encoding: {
    message: "the store's database has an encoding that lacks characters",
    advice:
      "make a database with `encoding 'UTF8' template template0`, and bring the store there with pg_dump and pg_restore",
  },
  notDurable: {
    message: "the store does not keep synchronous_commit on for this service",
    advice: "let no pooler or proxy drop the settings of a session",
  },
} as const;

export type TroubleKind = keyof typeof TROUBLES;
export const TROUBLE_KINDS = Object.keys(TROUBLES) as readonly TroubleKind[];

/** A reason for which the database cannot do its work now. */
export interface StoreTrouble {
  readonly kind: TroubleKind;
  /** A sentence that names no host, for clients. */
  readonly message: string;
  /** The next step of the operator. */
  readonly advice: string;
}

export function troubleNamed(kind: TroubleKind): StoreTrouble {
  return { kind, ...TROUBLES[kind] };
}

/** Names for what a query sees of a database that is away, overloaded or locked. Each other name says more of the cause. */
const VAGUE: ReadonlySet<TroubleKind> = new Set(["unreachable", "silent", "stopping", "busy", "blocked"]);

/** Whether the name of the trouble says no more than that the database did not get to the statement. */
export function isVague({ kind }: StoreTrouble): boolean {
  return VAGUE.has(kind);
}

/** The database could not do its work. The message is the driver's or the database's own. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
  readonly trouble: StoreTrouble;

  constructor(trouble: StoreTrouble, message: string = trouble.message, options?: ErrorOptions) {
    super(message, options);
    this.trouble = trouble;
  }
}

/**
 * Names the trouble for which the database did not do its work.
 * @returns undefined if the database did its work and refused the statement, or if the error is of something else.
 */
export function troubleOf(error: unknown): StoreTrouble | undefined {
  return error instanceof StoreUnavailableError ? error.trouble : undefined;
}

/**
 * Tells an operator the trouble, its cause and the next step, in a sentence.
 * @returns undefined for an error that is no trouble of the database.
 */
export function storeTroubleSentence(error: unknown): string | undefined {
  const trouble = troubleOf(error);
  if (trouble === undefined) return undefined;
  const { message } = error as Error;
  const cause = message === trouble.message ? "" : ` (${message})`;
  return `${trouble.message}${cause}; ${trouble.advice}`;
}

/** True if the database could not do its work. False if it answered with a refusal of the query. */
export function isStoreUnavailable(error: unknown): boolean {
  return troubleOf(error) !== undefined;
}

/**
 * Runs work on the store for a request.
 * @throws {@link ProtocolError} `STORE_UNAVAILABLE` (D21) with the name of the trouble if the database cannot do its work;
 * any other error as it is.
 */
export async function mapStoreErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble === undefined) throw error;
    const message = `${trouble.message}; it is not certain that anything was accepted`;
    throw new ProtocolError("STORE_UNAVAILABLE", message, {}, { cause: error });
  }
}
