import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import { createAdminApp } from "./admin/app.js";
import { createSubmissionFinder } from "./admin/submissionFinder.js";
import { createChecker } from "./check/check.js";
import { createApp } from "./http/app.js";
import { createClientAddress } from "./http/clientAddress.js";
import { createOperatorsApp } from "./http/operatorsApp.js";
import type { NetworkApp, Port } from "./http/port/port.js";
import { createKeyAdmin } from "./keys/keyAdmin.js";
import type { NetworkParts } from "./network.js";
import { createTokenStore } from "./store/keys/tokenStore.js";

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
  const { options, store, adminTokens, chain, served, relay, loop } = parts;
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
        ...{ store: reading, chain, options, policies, chainRef, loop },
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
