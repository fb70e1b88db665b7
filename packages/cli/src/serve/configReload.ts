import { isDeepStrictEqual } from "node:util";
import type { WaiverAccount } from "@gas-waiver/protocol";
import {
  RELOADABLE_OPTIONS,
  type ReloadableOptions,
  type ServerOptions,
  type TlsCertificate,
} from "@gas-waiver/server";
import type { Context } from "../command.js";
import { UsageError } from "../settings/readSettings.js";
import { changedSettings, networkName, reloadedValues } from "./changedSettings.js";
import { type CustodyValues, isOfCustody, splitCustody } from "./custodySettings.js";
import type { OpenWaivers } from "./openWaivers.js";
import { type NetworkConfig, resolveServeConfig, type ServeConfig } from "./serveConfig.js";
import { SERVE_OUTPUT_SETTINGS } from "./serveOutput.js";
import { serverOptions } from "./serverOptions.js";
import { NETWORK_SETTINGS, type ServeValues, SHARED_SETTINGS, type SharedValues } from "./serveSettings.js";
import { splitCertificate } from "./transportSettings.js";

/** The running service, whose one network without a name has the empty one. */
export interface ReloadTarget {
  /** Changes the options of all these networks, by their names, or of none. */
  setOptionsOfAll(changed: Readonly<Record<string, ReloadableOptions>>): Promise<void>;
  setWaivers(network: string, waivers: readonly WaiverAccount[]): Promise<void>;
  setCertificate(tls: TlsCertificate): void;
}

export interface ConfigReloadOptions {
  readonly argv: readonly string[];
  /** The settings that the service starts with. */
  readonly config: ServeConfig;
  readonly context: Pick<Context, "env" | "print">;
}

/** Stands for all settings among the requests. No network has this name. */
const EVERYTHING = "*";

/**
 * Reads the settings of a running service again, from the flags and variables of its start and from the file: all of them at
 * SIGHUP, or the waivers' keys of one network when an operator asks for that. Settings with a mistake change nothing. Reloads never
 * overlap: a long one that began earlier would bring a key back that was taken away meanwhile, and each keystore takes 256 MiB for a
 * moment. Any number of requests during a reload lead to one more.
 */
export class ConfigReload {
  readonly #options: ConfigReloadOptions;
  #inForce: ServeConfig;
  #running: { readonly target: ReloadTarget; readonly openers: ReadonlyMap<string, OpenWaivers> } | undefined;
  #requests = new Set<string>();
  #isReloading = false;

  constructor(options: ConfigReloadOptions) {
    this.#options = options;
    this.#inForce = options.config;
  }

  /** Takes over from now on what was asked for, and first what was asked for during the start. */
  begin(target: ReloadTarget, openers: ReadonlyMap<string, OpenWaivers>): void {
    this.#running = { target, openers };
    void this.#reloadWhileRequested();
  }

  /** Reads all settings again. */
  readonly all = (): void => this.#request(EVERYTHING);

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
      // A file may be gone between two looks at it. Nobody else waits for this promise, and the service must outlive it.
      await this.#reload(requests).catch((error: Error) => {
        this.#options.context.print(`the reload failed, and the settings in force stay: ${error.message}`);
      });
    }
    this.#isReloading = false;
  }

  async #reload(requests: ReadonlySet<string>): Promise<void> {
    const { argv, context } = this.#options;
    const { config: fresh, problems } = resolveServeConfig(argv, context.env, SERVE_OUTPUT_SETTINGS);
    if (problems.length > 0) {
      context.print("the settings have mistakes, and those in force stay:");
      for (const problem of problems) context.print(`  - ${problem}`);
      return;
    }
    const isAll = requests.has(EVERYTHING);
    if (isAll) await this.#reloadSettings(fresh);
    for (const network of fresh.networks) {
      const isRequested = requests.has(networkName(network));
      if (isAll || isRequested) await this.#reloadWaivers(network, isRequested);
    }
  }

  /** Takes over all settings but those of custody. */
  async #reloadSettings(fresh: ServeConfig): Promise<void> {
    const { print } = this.#options.context;
    const changed = changedSettings(this.#inForce, fresh);
    const restart = changed.filter(({ needsRestart }) => needsRestart).map(({ key }) => key);
    const taken = changed.filter(({ needsRestart, name }) => !needsRestart && !isOfCustody(name));
    if (changed.length === 0) print("the settings are those in force");
    if (restart.length > 0) print(`these settings need a restart: ${restart.join(", ")}`);
    if (taken.length === 0) return;
    try {
      await this.#apply(fresh);
      print(`these settings are taken over: ${taken.map(({ key }) => key).join(", ")}`);
    } catch (error) {
      // The next reload finds the same changes, and tries again what was not applied.
      print(
        `these settings stay as they were: ${taken.map(({ key }) => key).join(", ")}: ${messageOf(error)}`,
      );
    }
  }

  async #apply(fresh: ServeConfig): Promise<void> {
    const before = this.#inForce;
    const shared = reloadedValues(SHARED_SETTINGS, before.shared, fresh.shared);
    const networks = before.networks.map((network) => {
      const now = fresh.networks.find((other) => networkName(other) === networkName(network));
      if (now === undefined) return network;
      const values = reloadedValues(NETWORK_SETTINGS, network.values, now.values);
      return { ...network, values: { ...values, ...custodyOf(network) } };
    });
    // The one step that can find a mistake: nothing has changed yet.
    this.#useCertificate(before.shared, shared);
    const options = networks.map((network) => {
      const { otherValues } = splitCustody({ ...shared, ...network.values } as ServeValues);
      return [networkName(network), reloadable(serverOptions(otherValues, []))] as const;
    });
    await this.#running?.target.setOptionsOfAll(Object.fromEntries(options));
    this.#inForce = { ...before, shared, networks };
  }

  #useCertificate(before: SharedValues, now: SharedValues): void {
    const [{ tls: old }, { tls }] = [splitCertificate(before), splitCertificate(now)];
    if (!tls || (old?.cert === tls.cert && old.key === tls.key)) return;
    this.#running?.target.setCertificate(tls);
  }

  /** Opens the custody if its settings or files have changed, or if an operator asks for it. */
  async #reloadWaivers(network: NetworkConfig, isRequested: boolean): Promise<void> {
    const name = networkName(network);
    const known = this.#inForce.networks.find((other) => networkName(other) === name);
    const open = this.#running?.openers.get(name);
    if (known === undefined || open === undefined) return;
    const [before, custody] = [custodyOf(known), custodyOf(network)];
    if (!isRequested && isDeepStrictEqual(before, custody)) return;
    const { context } = this.#options;
    const print = (line: string) => context.print(name === "" ? line : `network ${name}: ${line}`);
    try {
      const { chainId, custodyTimeoutMs } = known.values;
      // Nobody is asked for a passphrase while the service runs.
      const waivers = await open({ ...custody, chainId, custodyTimeoutMs }, { print: () => {} });
      await this.#running?.target.setWaivers(name, waivers);
      this.#useCustody(name, custody);
      print(`${waivers.length} waiver key(s) read again`);
    } catch (error) {
      print(`the waiver keys stay as they were: ${messageOf(error)}`);
    }
  }

  #useCustody(name: string, custody: CustodyValues): void {
    const networks = this.#inForce.networks.map((network) =>
      networkName(network) === name ? { ...network, values: { ...network.values, ...custody } } : network,
    );
    this.#inForce = { ...this.#inForce, networks };
  }
}

function custodyOf({ values }: NetworkConfig): CustodyValues {
  return splitCustody(values).custody;
}

function reloadable(options: ServerOptions): ReloadableOptions {
  const entries = RELOADABLE_OPTIONS.map((name) => [name, options[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as ReloadableOptions;
}

function messageOf(error: unknown): string {
  return error instanceof UsageError ? error.problems.join("; ") : (error as Error).message;
}
