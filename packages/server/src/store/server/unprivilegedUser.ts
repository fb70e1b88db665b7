import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { StartError } from "../../model/errors.js";

/** The user that runs PostgreSQL if this process is root. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Finds the user that runs PostgreSQL, which refuses to run as root: `postgres`, or else `nobody`.
 * @returns undefined if this process is not root.
 */
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

/** A program with its arguments, as `child_process` takes them. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The working directory is `/`, which every user may enter. */
  readonly options: { readonly cwd: string; readonly uid?: number; readonly gid?: number };
}

/**
 * Makes the command that runs a program as the unprivileged user. With `setpriv` (util-linux), the program keeps two
 * capabilities of root, `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH`, which pass all file permissions, because the data
 * may lie in folders that only root may enter. Without `setpriv`, the user itself must be able to reach the files.
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
