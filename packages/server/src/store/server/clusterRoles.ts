import { chown, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { runClusterProgram } from "./clusterProgram.js";
import { writeDurably } from "./durableFile.js";
import { clusterCommand, type User } from "./unprivilegedUser.js";

/** The superuser of the cluster. It has no login; statements run as it on the stopped cluster. */
export const SUPERUSER = "gas_waiver";

/** The role of the service. It owns the service's tables, and is no superuser. */
export const SERVICE_ROLE = "gas_waiver_service";

/** The first line of the rules for logins. A cluster with another first line has not been restricted yet. */
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
 * Makes the service's role with its password, and lets nobody else log in. Clusters of earlier versions let everybody in
 * as the superuser who could reach the socket. It works on the stopped cluster, so no login is ever open in between. The rules
 * for logins are written last: where this was interrupted, it is done again as a whole.
 */
export async function restrictLogins(options: UnrestrictedCluster): Promise<void> {
  const { home, cluster, user, password, signal } = options;
  const command = clusterCommand(user, cluster, [join(home, "bin", "postgres")]);
  // The mode goes on after an error unless it is told to end. A statement in the log could show the password.
  const settings = ["-c", "exit_on_error=on", "-c", "log_min_error_statement=panic"];
  const args = ["--single", ...command.args, ...settings, "postgres"];
  // The single-user mode takes a line for a statement.
  const lines = roleStatements(password).map((statement) => `${statement.replaceAll(/\s+/g, " ")}\n`);
  await runClusterProgram({ ...command, args }, { input: lines.join(""), signal });
  await replaceFile(rulesFile(cluster), LOGIN_RULES, user);
}

/** The statements that make the role and give it what earlier versions made as the superuser. Each may run again. */
function roleStatements(password: string): string[] {
  const role = SERVICE_ROLE;
  return [
    `do $$ begin if not exists (select from pg_roles where rolname = '${role}') then create role ${role}; end if; end $$`,
    `alter role ${role} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${password}'`,
    `alter database postgres owner to ${role}`,
    `do $$ declare statement text; begin for statement in ${OWNER_STATEMENTS} loop execute statement; end loop; end $$`,
  ];
}

/** Selects a statement for each thing of the superuser that is not PostgreSQL's own. Indexes and some sequences follow their tables. */
const OWNER_STATEMENTS = `
  with own as (select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')
  select format('alter schema %I owner to ${SERVICE_ROLE}', nspname) from pg_namespace
    where oid in (select oid from own) and nspname <> 'public' and nspowner = 10
  union all
  select format('alter table %s owner to ${SERVICE_ROLE}', c.oid::regclass) from pg_class c
    where relnamespace in (select oid from own) and relowner = 10 and relkind in ('r', 'p', 'v', 'm', 'S')
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')
        and c.relkind = 'S')
  union all
  select format('alter routine %s owner to ${SERVICE_ROLE}', oid::regprocedure) from pg_proc
    where pronamespace in (select oid from own) and proowner = 10
  union all
  select format('alter type %s owner to ${SERVICE_ROLE}', oid::regtype) from pg_type t
    where typnamespace in (select oid from own) and typowner = 10
      and (typtype in ('e', 'd') or exists (select from pg_class c where c.oid = t.typrelid and c.relkind = 'c'))`;

/** Puts a file in the place of another in one step. */
async function replaceFile(file: string, content: string, owner: User | undefined): Promise<void> {
  const draft = `${file}.new`;
  await rm(draft, { force: true });
  await writeDurably(draft, content);
  if (owner) await chown(draft, owner.uid, owner.gid);
  await rename(draft, file);
}
