import { readFile } from "node:fs/promises";
import type { WaiverAccount } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { createAdminApp } from "./admin/app.js";
import { createSubmissionFinder } from "./admin/submissionFinder.js";
import { createChecker } from "./check/check.js";
import { createApp } from "./http/app.js";
import { createClientAddress } from "./http/clientAddress.js";
import { createOperatorsApp } from "./http/operatorsApp.js";
import type { NetworkApp, Port } from "./http/port/port.js";
import { createKeyAdmin } from "./keys/keyAdmin.js";
import type { ResolvedNetwork } from "./model/options/networkOptions.js";
import type { ResolvedOptions } from "./model/options/options.js";
import { type ReloadableOptions, resolveAgain, withReloaded } from "./model/options/reloadableOptions.js";
import type { Patience } from "./model/patience.js";
import type { Logger } from "./model/telemetry/log.js";
import { type Network, type NetworkParts, openNetwork, type PreparedOptions } from "./network.js";
import { createTokenStore } from "./store/keys/tokenStore.js";
import { connectStore, type Database } from "./store/store.js";
import type { LoopQueue } from "./util/loopQueue.js";
import { sleepUnless } from "./util/wakeableTimer.js";
import { within } from "./util/within.js";

/** The pause before a network that could not start is tried again, in ms. It doubles with each failure, up to the longest. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

export interface NetworkSlotOptions {
  readonly network: ResolvedNetwork;
  readonly database: Database;
  readonly version: string;
  /** The queue for the event loop of the process. */
  readonly loop: LoopQueue;
  readonly log: Logger;
  /** The metrics of the process. */
  readonly registry: Registry;
  /** Aborted when the service begins to shut down. */
  readonly leaving: AbortSignal;
  readonly patience: Patience;
  /** Called when an operator asks the replicas of the network to read its waivers again. */
  readonly onReloadRequested: (network: string) => void;
}

/** A change of options without a problem. */
export interface CheckedOptions {
  readonly changed: ReloadableOptions;
  readonly resolved: ResolvedOptions;
}

/** A running network with its apps. */
export type RunningNetwork = Network & { readonly apps: HttpApps };

/**
 * The place of a network in a service. One among several that cannot start leaves it empty, and is tried again, so that the
 * others run meanwhile:
 *
 * ```
 *  empty ──► starting ──► running ──► drained ──► closed
 *              │  ▲
 *              ▼  │ after a pause
 *             failed
 * ```
 */
export class NetworkSlot {
  readonly place: ResolvedNetwork;
  readonly #options: NetworkSlotOptions;
  readonly #log: Logger;
  #ports: PortsOfApps | undefined;
  #waivers: readonly WaiverAccount[];
  /** The last change of options. */
  #changed: ReloadableOptions | undefined;
  #running: RunningNetwork | undefined;
  #trouble: string | undefined;
  #isClosed = false;
  #attempts: Promise<void> = Promise.resolve();

  constructor(options: NetworkSlotOptions) {
    this.place = options.network;
    this.#options = options;
    this.#log = this.place.isAlone ? options.log : options.log.child({ network: this.place.name });
    this.#waivers = this.place.options.waivers;
  }

  get running(): RunningNetwork | undefined {
    return this.#running;
  }

  get waivers(): readonly WaiverAccount[] {
    return this.#waivers;
  }

  /** The reason why the network does not run; undefined if it runs. */
  get trouble(): string | undefined {
    return this.#running ? undefined : (this.#trouble ?? "it has not started yet");
  }

  /** Whether there is anybody whom the admin API serves. */
  get hasAdminTokens(): boolean {
    return (this.#running?.parts ?? this.place).options.adminTokens.length > 0;
  }

  /** Starts the network. @throws the reason why it does not run. */
  async start(ports: PortsOfApps): Promise<void> {
    const started = this.#start(ports);
    this.#attempts = started.catch(() => {});
    await started;
  }

  /** Tries to start the network once. Never rejects. */
  tryToStart(ports: PortsOfApps): Promise<void> {
    this.#ports = ports;
    this.#attempts = this.#attempt(ports);
    return this.#attempts;
  }

  /**
   * Tries again until the network runs or the service shuts down, if {@link tryToStart} fails or has failed.
   * @returns when the tries have ended. Never rejects.
   */
  keepTrying(): Promise<void> {
    this.#attempts = this.#attempts.then(() => this.#tryAgain());
    return this.#attempts;
  }

  async setWaivers(accounts: readonly WaiverAccount[]): Promise<void> {
    resolveAgain({ ...this.place.options, waivers: accounts });
    await this.#running?.setWaivers(accounts);
    this.#waivers = accounts;
  }

  /**
   * Checks a change of options. Absent options of the process stay as they are: among several networks, the options of one
   * network do not have them.
   * @throws {@link InvalidOptionsError} with every problem.
   */
  checkOptions(given: ReloadableOptions): CheckedOptions {
    const { adminTokens, logLevel } = { ...this.place.options, ...this.#changed };
    const changed = this.place.isAlone ? given : { adminTokens, logLevel, ...given };
    return { changed, resolved: withReloaded(this.place.options, changed) };
  }

  /** Does the rest of a change of options that can fail. */
  async prepareOptions({ changed }: CheckedOptions): Promise<PreparedOptions> {
    const apply = await this.#running?.prepareOptions(changed);
    return async () => {
      this.#changed = changed;
      if (apply) await apply();
      // The network has come up since it was asked.
      else if (this.#running) this.#useLatest("options", setOptions(this.#running, changed));
    };
  }

  /** See {@link Network.drain}. An attempt to start that takes longer than that may is left behind, and undone at its end. */
  async drain(): Promise<void> {
    await within(this.place.options.shutdownMs, this.#attempts).catch(() => {});
    this.#isClosed = true;
    await this.#running?.drain();
  }

  /** Closes the routes of the network, which ends its WebSockets. */
  async closeApps(): Promise<void> {
    if (this.#running) await Promise.all(appsOf(this.#running.apps).map((app) => app.close()));
  }

  async close(): Promise<void> {
    await this.#running?.close();
  }

  async #tryAgain(): Promise<void> {
    const { leaving } = this.#options;
    for (let pauseMs = FIRST_PAUSE_MS; this.#ports && !this.#running && !leaving.aborted; ) {
      await sleepUnless(pauseMs, leaving);
      if (!leaving.aborted) await this.#attempt(this.#ports);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  async #attempt(ports: PortsOfApps): Promise<void> {
    try {
      await this.#start(ports);
      if (this.#running) this.#log.info({ chainId: this.place.options.chainId }, "the network runs");
    } catch (error) {
      const { message } = error as Error;
      // Every attempt of a network that stays down would log the same.
      if (message !== this.#trouble)
        this.#log.error({ err: message }, "the network does not run; it is tried again");
      this.#trouble = message;
    }
  }

  async #start(ports: PortsOfApps): Promise<void> {
    const [waivers, changed] = [this.#waivers, this.#changed];
    const running = await this.#open(ports);
    if (this.#isClosed) {
      await running.drain();
      await running.close();
      return;
    }
    this.#running = running;
    if (this.#waivers !== waivers) this.#useLatest("waivers", running.setWaivers(this.#waivers));
    if (this.#changed && this.#changed !== changed)
      this.#useLatest("options", setOptions(running, this.#changed));
  }

  /** They were replaced during the attempt, and a key that was taken away must not sign. */
  #useLatest(kind: "waivers" | "options", change: Promise<void>): void {
    change.catch((error: Error) => {
      this.#log.error({ err: error.message }, `the ${kind} of the network stay as they were`);
    });
  }

  async #open(ports: PortsOfApps): Promise<RunningNetwork> {
    const { network, database, version, loop, leaving, patience } = this.#options;
    const [log, metricsRegistry] = [this.#log, this.#createRegistry()];
    const onReloadRequested = () => this.#options.onReloadRequested(network.name);
    const ofStart = { ...network.options, waivers: this.#waivers };
    const options = this.#changed ? withReloaded(ofStart, this.#changed) : ofStart;
    const store = await connectStore(database.address, options, log);
    const opened = await openNetwork({
      ...{ options, store, log, metricsRegistry, loop, leaving, patience, isAlone: network.isAlone },
      onReloadRequested,
    });
    const apps = createHttpApps(opened.parts, version, ports);
    await Promise.all(appsOf(apps).map((app) => app.ready()));
    return { ...opened, apps };
  }

  /** Makes the place of the network's metrics: beside those of the process, or apart and with labels if it is one of several. */
  #createRegistry(): Registry {
    const { name, options, isAlone } = this.place;
    if (isAlone) return this.#options.registry;
    const registry = new Registry();
    registry.setDefaultLabels({ network: name, chain_id: String(options.chainId) });
    return registry;
  }
}

async function setOptions(network: Network, changed: ReloadableOptions): Promise<void> {
  const apply = await network.prepareOptions(changed);
  await apply();
}

function appsOf({ api, operators, admin }: HttpApps) {
  return [api.app, operators, admin];
}

/** The apps of a network, by the ports that they are for. */
export interface HttpApps {
  readonly api: NetworkApp;
  readonly operators: FastifyInstance;
  readonly admin: FastifyInstance;
}

/** The ports of a service, by their apps. */
export type PortsOfApps = { readonly [Name in keyof HttpApps]: Port };

/**
 * Builds the HTTP interfaces of a network: the public one, the metrics and probes, and the admin API. The ports pass the requests
 * for the network on to them.
 */
export function createHttpApps(parts: NetworkParts, version: string, ports: PortsOfApps): HttpApps {
  const { options, store, adminTokens, chain, checkedChain, served, relay, loop } = parts;
  const { intake, metrics, policies } = relay;
  const { chainRef } = served;
  const reading = store.forRole("reading");
  const ofNetwork = { ...parts, ...relay, chainRef, store: reading };
  const health = { status: "ok", version, chainId: options.chainId } as const;
  return {
    api: createApp({
      ...ofNetwork,
      health,
      tokenStore: createTokenStore(store.forRole("accepting")),
      policy: {
        ...{ store: reading, options, served },
        policies: () => policies.current(),
        waivers: relay.waivers,
      },
      checker: createChecker({
        ...{ store: reading, chain: checkedChain, options, policies, chainRef, loop },
        isShuttingDown: () => intake.isStopping,
      }),
      port: ports.api,
    }),
    operators: createOperatorsApp({ ...parts, metrics, health }),
    admin: createAdminApp({
      ...parts,
      keyAdmin: createKeyAdmin(store),
      submissions: createSubmissionFinder({ store: reading, chainRef, chain }),
      tokens: () => adminTokens.current,
      clientAddress: createClientAddress(options),
      port: ports.admin,
    }),
  };
}

export async function readVersion(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
