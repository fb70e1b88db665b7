import { chown, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { runClusterProgram } from "./clusterProgram.js";
import { writeDurably } from "./durableFile.js";
import { clusterCommand, type User } from "./unprivilegedUser.js";

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
