import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { StartError } from "../../model/errors.js";

/** Whom PostgreSQL runs as where we are root. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root: then it runs as `postgres`, or else as `nobody`. */
export async function unprivilegedUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const [name, , uid, gid] =
    users.find(([user]) => user === "postgres") ?? users.find(([user]) => user === "nobody") ?? [];
  if (name === undefined) {
    throw new StartError(
      "PostgreSQL does not run as root, and there is no user `postgres` or `nobody`: run as another user, or set a database URL",
    );
  }
  return { uid: Number(uid), gid: Number(gid) };
}

/** A program to run. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The working directory is one that every user may enter. */
  readonly options: { readonly cwd: string; readonly uid?: number; readonly gid?: number };
}

/**
 * How to run a program as the unprivileged user. `setpriv` (util-linux) leaves it the right to pass through
 * folders that only root may enter, such as a home or a temporary folder, and nothing more; without it the
 * program must be able to reach its files by itself.
 */
export function asUser(owner: User | undefined, [file = "", ...args]: readonly string[]): Command {
  if (owner === undefined) return { file, args, options: { cwd: "/" } };
  const { uid, gid } = owner;
  const setpriv = "/usr/bin/setpriv";
  if (!existsSync(setpriv)) return { file, args, options: { cwd: "/", uid, gid } };
  const capabilities = "-all,+dac_override,+dac_read_search";
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  const rights = [
    `--inh-caps=${capabilities}`,
    `--ambient-caps=${capabilities}`,
    "--securebits=+no_setuid_fixup",
  ];
  return { file: setpriv, args: [...identity, ...rights, "--", file, ...args], options: { cwd: "/" } };
}
