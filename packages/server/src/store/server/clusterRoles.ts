import { execFile } from "node:child_process";
import { chown, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeDurably } from "./databasePassword.js";
import { type Command, clusterCommand, type User } from "./unprivilegedUser.js";

/** The superuser of the cluster. It has no login; statements run as it on the stopped cluster. */
export const SUPERUSER = "gas_waiver";

/** The role of the service. It owns the service's tables, and is no superuser. */
export const SERVICE_ROLE = "gas_waiver_service";

/** The first line of the rules for logins. A cluster with another first line is restricted by the next start. */
const MARK = "# Written by gas-waiver: only the service logs in, with its password. Further lines stay.";
const LOGIN_RULES = `${MARK}\nlocal postgres ${SERVICE_ROLE} scram-sha-256\n`;

/** @returns whether nobody but the service can log in to this cluster. */
export async function areLoginsRestricted(cluster: string): Promise<boolean> {
  const rules = await readFile(rulesFile(cluster), "utf8").catch(() => "");
  return rules.startsWith(MARK);
}

/** Makes the next start restrict the logins again. */
export async function forgetRestriction(cluster: string): Promise<void> {
  await rm(rulesFile(cluster), { force: true });
}

const rulesFile = (cluster: string) => join(cluster, "pg_hba.conf");

interface UnrestrictedCluster {
  /** The folder with PostgreSQL's programs. */
  readonly home: string;
  readonly cluster: string;
  /** The owner of the cluster's files; undefined for this process's own user. */
  readonly user: User | undefined;
  readonly password: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes the service's role with its password, and lets nobody else log in. It works on the stopped cluster, so no login is ever open in between. The rules
 * for logins are written last: where this was interrupted, it is done again as a whole.
 */
export async function restrictLogins(options: UnrestrictedCluster): Promise<void> {
  const { home, cluster, user, password, signal } = options;
  const command = clusterCommand(user, cluster, [join(home, "bin", "postgres")]);
  // The mode goes on after an error unless it is told to end. A statement in the log could show the password.
  const settings = ["-c", "exit_on_error=on", "-c", "log_min_error_statement=panic"];
  const args = ["--single", ...command.args, ...settings, "postgres"];
  // The single-user mode takes a line for a statement.
  const lines = roleStatements(password).map((statement) => `${statement}\n`);
  await runClusterProgram({ ...command, args }, { input: lines.join(""), signal });
  await replaceFile(rulesFile(cluster), LOGIN_RULES, user);
}

/** The statements that make the role and give it the database. Each may run again. */
function roleStatements(password: string): string[] {
  const role = SERVICE_ROLE;
  return [
    `do $$ begin if not exists (select from pg_roles where rolname = '${role}') then create role ${role}; end if; end $$`,
    `alter role ${role} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${password}'`,
    `alter database postgres owner to ${role}`,
  ];
}

/** Puts a file in the place of another in one step. */
async function replaceFile(file: string, content: string, owner: User | undefined): Promise<void> {
  const draft = `${file}.new`;
  await rm(draft, { force: true });
  await writeDurably(draft, content);
  if (owner) await chown(draft, owner.uid, owner.gid);
  await rename(draft, file);
}

const run = promisify(execFile);

/** The environment of PostgreSQL's programs, whose messages are read here. */
export const PROGRAM_ENVIRONMENT = { LC_ALL: "C" };

export interface ProgramInput {
  /** Lines for the standard input. */
  readonly input?: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs one of PostgreSQL's programs to its end.
 * @throws an error with PostgreSQL's own message, or the signal's reason.
 */
export async function runClusterProgram(
  command: Command,
  { input = "", signal }: ProgramInput,
): Promise<void> {
  const options = { ...command.options, env: PROGRAM_ENVIRONMENT, ...(signal && { signal }) };
  const running = run(command.file, command.args, options);
  // A program that fails early reads no input.
  running.child.stdin?.on("error", () => {}).end(input);
  try {
    await running;
  } catch (error) {
    signal?.throwIfAborted();
    const { stderr, message } = error as { stderr?: string; message: string };
    const lines = (stderr || message).trim().split("\n");
    const cause = lines.find((line) => /\b(ERROR|FATAL|PANIC):/.test(line)) ?? lines.at(-1);
    throw new Error(cause, { cause: error });
  }
}
