import { setTimeout as sleep } from "node:timers/promises";
import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { crypto, type WaiverAccount } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { closeApps } from "./http/port/closeApps.js";
import { type ListenAddress, listen } from "./http/port/listen.js";
import { replaceCertificates, warnOfTransport } from "./http/port/transport.js";
import { createHttpApps, readVersion } from "./httpApps.js";
import { StartError } from "./model/errors.js";
import type { ServerOptions } from "./model/options/options.js";
import type { ReloadableOptions } from "./model/options/reloadableOptions.js";
import { resolveOptions } from "./model/options/resolveOptions.js";
import type { TlsCertificate } from "./model/options/tlsCertificate.js";
import { createLog, setLogLevel } from "./model/telemetry/log.js";
import { type Network, openNetwork } from "./network.js";
import { reportCrypto } from "./signing/reportCrypto.js";
import { openStore } from "./store/store.js";

/** The running service. */
export interface Server {
  /** The number of submissions that the store already held at the start; 1,001 for more than a thousand. */
  readonly earlierSubmissions: number;
  /** @throws {@link StartError} if the port is not available, or if other machines could reach it without TLS. */
  listen(address: ListenAddress): Promise<{ url: string; port: number }>;
  /** Opens `GET /metrics` for Prometheus, and the probes `/livez` and `/readyz`, on a port of their own (D24). */
  listenMetrics(address: ListenAddress): Promise<{ url: string; port: number }>;
  /**
   * Opens the operators' API on a port of its own (D25).
   * @throws {@link StartError} without `adminTokens`.
   */
  listenAdmin(address: ListenAddress): Promise<{ url: string; port: number }>;
  /**
   * Starts the lanes of new waivers, and stops those of waivers that are gone.
   * @throws {@link InvalidOptionsError} if the list is empty or not valid. Then nothing changes.
   */
  setWaivers(accounts: readonly WaiverAccount[]): Promise<void>;
  /**
   * Changes options while the service runs: limits, API keys, admin tokens, targets and others of {@link ReloadableOptions}. Those
   * that are absent get their defaults. Streams and connections of an API key that is gone end.
   * @throws {@link InvalidOptionsError} with every problem, or the store's error. Then nothing changes.
   */
  setOptions(changed: ReloadableOptions): Promise<void>;
  /** Calls the listener whenever an operator asks all replicas to read their waivers' keys again (`LaneAdmin.reload`). */
  onReloadRequested(listener: () => void): void;
  /**
   * Uses another certificate for new connections; those that are open go on.
   * @throws {@link InvalidOptionsError} if it is not valid, or if the service started without one. Then nothing changes.
   */
  setCertificate(tls: TlsCertificate): void;
  /**
   * Takes a devnet back on purpose, as to a snapshot: the lanes rest while `goBack` does so, what is not on the chain any more
   * fails and may be sent again, and the lanes begin at the chain's nonces. Only with `newChain: "adopt"`, because on any other
   * chain nothing but final blocks may undo what was told (D28).
   * @param goBack resolves to false if it has changed nothing.
   * @returns the result of `goBack`.
   * @throws an error without that option, or what `goBack` throws.
   */
  rewind(goBack: () => Promise<boolean>): Promise<boolean>;
  /**
   * Reads the policies from the chain's registry now. A service that follows the registry does so by itself, a moment after a
   * change. Resolves also if no node answers.
   */
  rereadPolicies(): Promise<void>;
  /**
   * Is not ready any more, and serves for `shutdownDelayMs`. Then it accepts nothing more, waits for the open lines, finishes
   * what is signed, releases the lanes, answers the lines that are still open, and closes the store: within `shutdownMs` and a
   * moment. Further calls resolve with the first one.
   */
  close(): Promise<void>;
}

/** Builds the service as `createServer` describes. */
export async function buildServer(given: ServerOptions, signal: AbortSignal | undefined): Promise<Server> {
  const options = resolveOptions(given);
  const log = createLog(options.logLevel);
  reportCrypto(await useNativeCrypto(), log);
  const version = await readVersion();
  const store = await openStore(options, log, signal);
  if (signal?.aborted) await store.close();
  signal?.throwIfAborted();
  const leaving = new AbortController();
  const network = await openNetwork({ options, store, log, leaving: leaving.signal });
  warnOfTransport(options, log);
  const { api, operators, admin } = createHttpApps(network.parts, version);
  const apps = { api: api.app, operators, admin };
  log.info({ crypto: crypto.name, chainId: options.chainId, version }, "the service is built");
  let closed: Promise<void> | undefined;
  return {
    earlierSubmissions: network.parts.earlierSubmissions,
    listen: (address) => listen(apps.api, address, options),
    listenMetrics: (address) => listen(apps.operators, address, options),
    async listenAdmin(address) {
      if (network.parts.options.adminTokens.length === 0) throw new StartError("the admin API needs a token");
      return listen(apps.admin, address, options);
    },
    setWaivers: network.setWaivers,
    async setOptions(changed) {
      await network.setOptions(changed);
      setLogLevel(log, network.parts.options.logLevel);
    },
    onReloadRequested: network.parts.relay.onReloadRequested,
    rewind: network.rewind,
    rereadPolicies: network.parts.relay.policies.reread,
    setCertificate: (tls) => replaceCertificates(Object.values(apps), options, tls, log),
    close() {
      closed ??= shutDown(network, apps, leaving);
      return closed;
    },
  };
}

/** Ends the service in the order of {@link Server.close}. */
async function shutDown(
  network: Network,
  apps: Readonly<Record<"api" | "operators" | "admin", FastifyInstance>>,
  leaving: AbortController,
): Promise<void> {
  const { shutdownDelayMs } = network.parts.options;
  leaving.abort();
  if (shutdownDelayMs > 0) await sleep(shutdownDelayMs);
  const drained = network.drain();
  // A request on one of these would be refused; on a new connection it can reach another replica.
  apps.api.server.closeIdleConnections();
  await drained;
  await closeApps(Object.values(apps));
  await network.close();
}
