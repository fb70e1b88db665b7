import { closeSync, fstatSync, openSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Parser, withForm } from "./form.js";
import { unreadable } from "./readText.js";
import { InvalidValueError } from "./setting.js";

/** The parts of a file's or folder's status that say who may use it. */
type Access = Pick<Stats, "mode" | "uid">;

/**
 * Turns a parser of text into a parser of the path of a file that holds secrets. The file is refused if anybody but its
 * owner can read or write it. So is a file, or a link to one, in a folder that lets other users replace it.
 */
export function secretFileOf<T>(parse: (content: string) => T): Parser<T> {
  return withForm({ kind: "path" }, (path) => parse(readSecretFile(path)));
}

/** Takes the content of such a file as it is. */
export const secretFile = secretFileOf((content) => content);

/** @throws {@link InvalidValueError} with the command that mends the file, or if it cannot be read. */
export function readSecretFile(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      // The status is that of the opened file, so that nobody can put another one in its place in between.
      const problem = fileProblem(path, fstatSync(file)) ?? folderProblems(path);
      if (problem !== undefined) throw new InvalidValueError(problem);
      return readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof InvalidValueError) throw error;
    throw unreadable(error);
  }
}

/** Describes who else can read a file that holds secrets, or replace it; undefined if nobody can. */
export function secretProblem(path: string): string | undefined {
  return fileProblem(path, statSync(path)) ?? folderProblems(path);
}

/** Checks the folder of the file and, behind a link, the one that the link leads to. */
function folderProblems(path: string): string | undefined {
  return folderProblem(dirname(path)) ?? folderProblem(dirname(behindLinks(path)));
}

/** True if every user of the machine can change the file. */
export function canAllWrite(path: string): boolean {
  return ownUid !== undefined && (statSync(path).mode & 0o002) !== 0;
}

/** A path in `/proc` may name a pipe, which has no path of its own. */
function behindLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

const ROOT = 0;
const STICKY = 0o1000;
const OTHERS_CAN_WRITE = 0o022;

/** The user of this process; undefined on systems without user numbers. */
const ownUid = process.geteuid?.();

/**
 * Root hands files to a service by its group: volumes of Kubernetes and credentials of systemd come so. Then the group may
 * read. An access control list shows in the group's bits as well.
 */
export function fileProblem(path: string, { mode, uid }: Access, user = ownUid): string | undefined {
  if (user === undefined) return undefined;
  if (uid !== user && uid !== ROOT) {
    return `belongs to another user (number ${uid}), who can read and change it: run \`chown ${user} ${quoted(path)}\``;
  }
  const forbidden = uid === ROOT && user !== ROOT ? 0o037 : 0o077;
  if ((mode & forbidden) === 0) return undefined;
  return `can be read or written by other users (mode ${octal(mode)}): run \`chmod 600 ${quoted(path)}\``;
}

/** In a folder with the sticky bit, such as /tmp, others cannot replace the file. */
function folderProblem(folder: string): string | undefined {
  if (ownUid === undefined) return undefined;
  const { mode, uid } = statSync(folder);
  if (uid !== ownUid && uid !== ROOT) {
    return `is in a folder of another user (number ${uid}), who can replace it: run \`chown ${ownUid} ${quoted(folder)}\``;
  }
  if ((mode & OTHERS_CAN_WRITE) === 0 || (mode & STICKY) !== 0) return undefined;
  return `is in a folder that other users can write to (mode ${octal(mode)}): run \`chmod go-w ${quoted(folder)}\``;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** The path as a shell takes it. */
function quoted(path: string): string {
  return /^[\w./:@%+=,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
