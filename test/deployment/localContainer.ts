import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ChildProgram, root } from "../support/childProgram.js";
import type { Stage } from "./dockerfile.js";

/*
 * Runs the last stage of the Dockerfile without a container engine, in namespaces of Linux. The system folders of this
 * machine stand for the base image, and its installed and compiled checkout for the stages before.
 */

/** Whether this machine lets its users make namespaces. */
export const canIsolate = (() => {
  try {
    execFileSync("unshare", ["--user", "--map-root-user", "--mount", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

const SYSTEM_FOLDERS = ["usr", "etc", "bin", "sbin", "lib", "lib32", "lib64"];

/**
 * Mounts everything in the new root (`$1`), makes all of it read-only but `/tmp`, and goes on in it as another user without
 * capabilities. `$2` is the user, `$3` the number of mounts: pairs of a source and a target.
 */
const ENTER = `set -e
root=$1 user=$2 count=$3; shift 3
mount --bind "$root" "$root"; cd "$root"
while [ "$count" -gt 0 ]; do
  mount --bind "$1" ".$2"; mount -o remount,bind,ro ".$2"; shift 2; count=$((count - 1))
done
mount --rbind /dev dev; mount --rbind /proc proc; mount -t tmpfs tmpfs tmp
mount -o remount,bind,ro .
pivot_root . old; umount -l /old; cd /app
exec unshare --user --map-user="$user" --map-group="$user" "$@"`;

export class LocalImage {
  readonly #root: string;
  readonly #stage: Stage;
  /** Files of this machine by their place in the image. */
  readonly #mounts = new Map<string, string>();

  /** @param folder an empty folder, for the root file system. */
  constructor(folder: string, stages: readonly Stage[]) {
    this.#root = folder;
    this.#stage = stages.at(-1) as Stage;
    for (const name of ["app", "dev", "old", "proc", "tmp"]) mkdirSync(join(folder, name));
    for (const name of SYSTEM_FOLDERS.filter((one) => existsSync(`/${one}`))) this.#addSystemFolder(name);
    // Node may be installed outside of the system's folders.
    if (!process.execPath.startsWith("/usr/")) this.#mount(process.execPath, process.execPath);
    for (const { from, source, target } of this.#stage.copies) {
      if (from !== "dependencies") this.#copy(source.replace(/^\/app\//, ""), target);
      else if (source === "/app/")
        for (const copied of stages.find(({ name }) => name === from)?.copies ?? [])
          this.#copy(copied.source, copied.target);
    }
    this.#addModules();
  }

  /** Runs a command in the image, or the image's own. */
  run(env: Readonly<Record<string, string>>, command = this.command): ChildProgram {
    const [user = ""] = (this.#stage.settings.USER ?? "").split(":");
    const mounts = [...this.#mounts].flatMap(([target, source]) => [source, target]);
    const entering = ["sh", "-c", ENTER, "sh", this.#root, user, String(this.#mounts.size), ...mounts];
    return new ChildProgram(["--user", "--map-root-user", "--mount", ...entering, ...command], {
      command: "unshare",
      env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, ...this.#stage.env, ...env },
    });
  }

  /** The image's own command. */
  get command(): string[] {
    const { ENTRYPOINT = "[]", CMD = "[]" } = this.#stage.settings;
    return [...JSON.parse(ENTRYPOINT), ...JSON.parse(CMD)];
  }

  get healthCheck(): string[] {
    const [, command = "[]"] = /CMD (\[.*\])$/.exec(this.#stage.settings.HEALTHCHECK ?? "") ?? [];
    return JSON.parse(command);
  }

  #addSystemFolder(name: string): void {
    const link = lstatSync(`/${name}`).isSymbolicLink() ? readlinkSync(`/${name}`) : undefined;
    if (link === undefined) this.#mount(`/${name}`, `/${name}`);
    else symlinkSync(link, join(this.#root, name));
  }

  /** Puts a file or folder of the checkout into the image, by the rules of COPY. */
  #copy(path: string, target: string): void {
    const source = join(root, path);
    const place = resolve("/app", target.endsWith("/") ? join(target, basename(path)) : target);
    // A stage installs from folders outside of /app, which the image does not keep.
    if (!place.startsWith("/app/")) return;
    if (statSync(source).isDirectory()) this.#mount(source, place);
    else cpSync(source, join(this.#root, place));
  }

  /** The checkout's modules stand for those that `npm ci` installs in the stage of the dependencies. */
  #addModules(): void {
    this.#mount(join(root, "node_modules"), "/app/node_modules");
    for (const name of readdirSync(join(root, "packages"))) {
      const modules = join("packages", name, "node_modules");
      if (existsSync(join(root, modules))) this.#mount(join(root, modules), join("/app", modules));
    }
  }

  #mount(source: string, target: string): void {
    const place = join(this.#root, target);
    if (statSync(source).isDirectory()) mkdirSync(place, { recursive: true });
    else cpSync(source, place, { recursive: true });
    this.#mounts.set(target, source);
  }
}
