import { isDeepStrictEqual } from "node:util";
import { bytesToHex, type WaiverAccount } from "@gas-waiver/protocol";
import {
  certificateProblems,
  InvalidOptionsError,
  PinError,
  RELOADABLE_OPTIONS,
  type ReloadableOptions,
  type ServerOptions,
  type TlsCertificate,
} from "@gas-waiver/server";
import type { Context } from "../command.js";
import { UsageError } from "../settings/readSettings.js";
import { splitValues } from "../settings/setting.js";
import { CUSTODY_SETTINGS } from "../waivers/custodies.js";
import type { OpenWaivers } from "../waivers/openWaivers.js";
import { changedSettings, networkName, reloadedValues } from "./changedSettings.js";
import { certificateOf, reread } from "./portSettings.js";
import { type NetworkConfig, resolveServeConfig, type ServeConfig } from "./serveConfig.js";
import { SERVE_OUTPUT_SETTINGS } from "./serveOutput.js";
import { serverOptions } from "./serverOptions.js";
import { NETWORK_SETTINGS, SHARED_SETTINGS } from "./serveSettings.js";

/** The running service, whose one network without a name has the empty one. */
export interface ReloadTarget {
  /** Changes the options of all these networks, by their names, or of none. */
  setOptionsOfAll(changed: Readonly<Record<string, ReloadableOptions>>): Promise<void>;
  setWaivers(network: string, waivers: readonly WaiverAccount[]): Promise<void>;
  setCertificate(tls: TlsCertificate): void;
  /** Shows the operator why a reload was refused, or that it was not, and logs what it has changed. */
  noteReload(problems: readonly string[], news: readonly string[]): void;
}

export interface ConfigReloadOptions {
  readonly argv: readonly string[];
  /** The settings that the service starts with. */
  readonly config: ServeConfig;
  readonly context: Pick<Context, "env" | "print">;
}

/** Stand among the requests for all settings, and for the certificate. No network has such a name. */
const EVERYTHING = "*";
const CERTIFICATE = "*tls";

/** The settings of a network but for those of its custody. */
const [, OTHER_SETTINGS] = splitValues(CUSTODY_SETTINGS, NETWORK_SETTINGS);

/** The files of the certificate are looked at once in so many ms, and what was refused is tried again. */
export const RELOAD_LOOK_MS = 5_000;

function isMistake(error: unknown): boolean {
  const isOne = [UsageError, InvalidOptionsError, PinError].some((kind) => error instanceof kind);
  return isOne || (error instanceof Error && isMistake(error.cause));
}

/** A network whose custody is open with the settings of now. */
interface OpenedNetwork {
  readonly network: NetworkConfig;
  readonly waivers: readonly WaiverAccount[];
}

/**
 * Reads the settings of a running service again, from the flags and variables of its start and from the file: all of them at
 * SIGHUP, the certificate when its files have changed, or the waivers' keys of one network when an operator asks for that. All
 * of what changed at a SIGHUP is taken over, or nothing. Reloads never overlap: a long one that began earlier would bring a key back that was taken away meanwhile, and
 * each keystore takes 256 MiB for a moment. Any number of requests during a reload lead to one more. What is refused for another reason
 * than a mistake, because the store or a custody is away, is asked for again until it is taken over.
 */
export class ConfigReload {
  readonly #options: ConfigReloadOptions;
  #inForce: ServeConfig;
  #running: { readonly target: ReloadTarget; readonly openers: ReadonlyMap<string, OpenWaivers> } | undefined;
  #requests = new Set<string>();
  /** The requests whose last reload was refused without a mistake of the operator's. */
  #again = new Set<string>();
  #isReloading = false;
  /** The reasons why the present reload is refused. */
  #problems: string[] = [];
  /** The outcome of the present reload otherwise. */
  #news: string[] = [];
  /** The outcome that the operator knows, if this reload repeats one. */
  #told: readonly string[] = [];
  #mayPass = false;
  /** The files of the certificate as they were last taken over or refused, and as they were at the last look. */
  #judgedFiles: string;
  #seenFiles: string | undefined;

  constructor(options: ConfigReloadOptions) {
    this.#options = options;
    this.#inForce = options.config;
    this.#judgedFiles = filesOf(options.config);
  }

  /** Takes over from now on what was asked for, and first what was asked for during the start. */
  begin(target: ReloadTarget, openers: ReadonlyMap<string, OpenWaivers>): void {
    this.#running = { target, openers };
    void this.#reloadWhileRequested();
  }

  /** Reads all settings again. */
  readonly all = (): void => this.#request(EVERYTHING);

  /**
   * Asks for what was refused again, and looks at the files of the certificate. Other files are taken over at the second look that
   * finds them: a renewal may write one after the other.
   */
  readonly look = (): void => {
    for (const request of [...this.#again]) this.#request(request);
    const found = foundFiles(this.#inForce);
    const isNew = found === this.#seenFiles && found !== this.#judgedFiles;
    this.#seenFiles = found;
    if (isNew) this.#request(CERTIFICATE);
  };

  /** Reads the waivers' keys of a network again. */
  readonly waivers = (network: string): void => this.#request(network);

  #request(request: string): void {
    this.#requests.add(request);
    void this.#reloadWhileRequested();
  }

  async #reloadWhileRequested(): Promise<void> {
    if (this.#isReloading || this.#running === undefined) return;
    this.#isReloading = true;
    while (this.#requests.size > 0) {
      const requests = this.#requests;
      this.#requests = new Set();
      const isRepeated = [...requests].every((request) => this.#again.has(request));
      this.#told = isRepeated ? [...this.#problems, ...this.#news] : [];
      this.#problems = [];
      this.#mayPass = false;
      this.#news = [];
      // A file may be gone between two looks at it. Nobody else waits for this promise, and the service must outlive it.
      await this.#reload(requests).catch((error: Error) => {
        this.#refuse(`the reload failed, and the settings in force stay: ${error.message}`, error);
      });
      for (const request of requests) {
        if (this.#mayPass) this.#again.add(request);
        else this.#again.delete(request);
      }
      if (!isDeepStrictEqual([...this.#problems, ...this.#news], this.#told))
        this.#running.target.noteReload(this.#problems, this.#news);
    }
    this.#isReloading = false;
  }

  async #reload(requests: ReadonlySet<string>): Promise<void> {
    const { argv, context } = this.#options;
    if (requests.has(CERTIFICATE) && !requests.has(EVERYTHING)) {
      this.#judgedFiles = foundFiles(this.#inForce);
      await this.#reloadAll({ ...this.#inForce, shared: reread(this.#inForce.shared) });
      if (requests.size === 1) return;
    }
    const { config: fresh, problems } = resolveServeConfig(argv, context.env, SERVE_OUTPUT_SETTINGS);
    if (problems.length > 0) {
      context.print("the settings have mistakes, and those in force stay:");
      for (const problem of problems) this.#refuse(`  - ${problem}`);
      return;
    }
    if (requests.has(EVERYTHING)) {
      this.#judgedFiles = filesOf(fresh);
      await this.#reloadAll(fresh, requests);
    } else {
      const asked = fresh.networks.filter((network) => requests.has(networkName(network)));
      for (const network of asked) {
        const opened = await this.#open(network);
        if (opened) await this.#useWaivers(opened);
      }
    }
  }

  /** Takes over all settings that have changed. Whatever can fail comes first. */
  async #reloadAll(fresh: ServeConfig, requests: ReadonlySet<string> = new Set()): Promise<void> {
    const changed = changedSettings(this.#inForce, fresh);
    const restart = changed.filter(({ needsRestart }) => needsRestart).map(({ key }) => key);
    if (changed.length === 0) this.#tell("the settings are those in force");
    if (restart.length > 0) this.#tell(`these settings need a restart: ${restart.join(", ")}`);
    const toOpen = fresh.networks.filter(
      (network) => requests.has(networkName(network)) || this.#hasOtherCustody(network),
    );
    const opened: (OpenedNetwork | undefined)[] = [];
    for (const network of toOpen) opened.push(await this.#open(network));
    const failed = toOpen.filter((_, i) => opened[i] === undefined).map(networkName);
    const taken = changed.filter(({ needsRestart, isOfCustody }) => !needsRestart && !isOfCustody);
    const untaken = changed.filter(
      ({ needsRestart, isOfCustody, network }) =>
        !needsRestart && !(isOfCustody && (failed.length === 0 || failed.some((name) => name === network))),
    );
    try {
      if (failed.length > 0) throw new UsageError(["waiver keys cannot be read"]);
      if (taken.length > 0) {
        await this.#apply(fresh);
        this.#tell(`these settings are taken over: ${taken.map(({ key }) => key).join(", ")}`);
      }
    } catch (error) {
      // The next reload finds the same changes, and tries again what was not applied.
      if (untaken.length > 0)
        this.#refuse(
          `these settings stay as they were: ${untaken.map(({ key }) => key).join(", ")}: ${messageOf(error)}`,
          error,
        );
      return;
    }
    for (const one of opened) if (one) await this.#useWaivers(one);
  }

  /** Takes over all settings but those of custody. */
  async #apply(fresh: ServeConfig): Promise<void> {
    const before = this.#inForce;
    const shared = reloadedValues(SHARED_SETTINGS, before.shared, fresh.shared);
    const networks = before.networks.map((network) => {
      const now = fresh.networks.find((other) => networkName(other) === networkName(network));
      if (now === undefined) return network;
      return { ...network, values: reloadedValues(OTHER_SETTINGS, network.values, now.values) };
    });
    const [old, tls] = [certificateOf(before.shared), certificateOf(shared)];
    const problems = tls ? certificateProblems(tls) : [];
    if (problems.length > 0) throw new UsageError(problems);
    const options = networks.map(
      (network) =>
        [networkName(network), reloadable(serverOptions({ ...shared, ...network.values }, []))] as const,
    );
    await this.#running?.target.setOptionsOfAll(Object.fromEntries(options));
    if (tls && (old?.cert !== tls.cert || old.key !== tls.key)) this.#running?.target.setCertificate(tls);
    this.#inForce = { ...before, shared, networks };
  }

  #known(network: NetworkConfig): NetworkConfig | undefined {
    return this.#inForce.networks.find((other) => networkName(other) === networkName(network));
  }

  #hasOtherCustody(network: NetworkConfig): boolean {
    const known = this.#known(network);
    return known !== undefined && !isDeepStrictEqual(known.custody, network.custody);
  }

  /** Opens the custody of a network that runs. It prints the reason if that is not possible. */
  async #open(network: NetworkConfig): Promise<OpenedNetwork | undefined> {
    const known = this.#known(network);
    const open = this.#running?.openers.get(networkName(network));
    if (known === undefined || open === undefined) return undefined;
    try {
      const { chainId, custodyTimeoutMs } = known.values;
      // Nobody is asked for a passphrase while the service runs.
      const waivers = await open({ ...network.custody, chainId, custodyTimeoutMs }, { print: () => {} });
      const addresses = new Set(waivers.map(({ address }) => bytesToHex(address)));
      if (addresses.size < waivers.length) throw new UsageError(["the custody has the same key twice"]);
      return { network, waivers };
    } catch (error) {
      this.#refuse(this.#named(network, `the waiver keys stay as they were: ${messageOf(error)}`), error);
      return undefined;
    }
  }

  async #useWaivers({ network, waivers }: OpenedNetwork): Promise<void> {
    try {
      await this.#running?.target.setWaivers(networkName(network), waivers);
      const { custody } = network;
      const networks = this.#inForce.networks.map((other) =>
        networkName(other) === networkName(network) ? { ...other, custody } : other,
      );
      this.#inForce = { ...this.#inForce, networks };
      this.#tell(this.#named(network, `${waivers.length} waiver key(s) read again`));
    } catch (error) {
      this.#refuse(this.#named(network, `the waiver keys stay as they were: ${messageOf(error)}`), error);
    }
  }

  #named(network: NetworkConfig, line: string): string {
    const name = networkName(network);
    return name === "" ? line : `network ${name}: ${line}`;
  }

  #tell(line: string): void {
    this.#news.push(line);
    if (!this.#told.includes(line)) this.#options.context.print(line);
  }

  /** @param error the reason, unless that is a mistake in the settings. */
  #refuse(line: string, error?: unknown): void {
    const problem = line.replace(/^ +- /, "");
    this.#problems.push(problem);
    if (error !== undefined && !isMistake(error)) this.#mayPass = true;
    if (!this.#told.includes(problem)) this.#options.context.print(line);
  }
}

function reloadable(options: ServerOptions): ReloadableOptions {
  const entries = RELOADABLE_OPTIONS.map((name) => [name, options[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as ReloadableOptions;
}

/** The certificate of these settings as one text. */
function filesOf({ shared }: ServeConfig): string {
  return JSON.stringify(certificateOf(shared) ?? "none");
}

/** The certificate as its files have it now; the reason where they cannot be read. */
function foundFiles(config: ServeConfig): string {
  try {
    return filesOf({ ...config, shared: reread(config.shared) });
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof UsageError ? error.problems.join("; ") : (error as Error).message;
}
