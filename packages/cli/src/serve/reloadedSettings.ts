import type { Setting, Settings } from "../settings/setting.js";
import { CUSTODY_SETTINGS } from "../waivers/custodies.js";

type Reload = NonNullable<Setting<unknown>["reload"]>;

/** The settings beside those of custody that a running service takes over at SIGHUP. */
const RELOADED: Readonly<Record<string, Reload>> = {
  apiKeysFile: "always",
  apiKeys: "always",
  adminTokensFile: "always",
  adminTokens: "always",
  // Without targets the registry is the source of the policies, which the service follows from its start.
  allowedTargets: "while given",
  // A port serves HTTPS or HTTP from its start.
  tlsCert: "while given",
  tlsKey: "while given",
  corsOrigins: "always",
  retentionMs: "always",
  dropExportedOnly: "always",
  maxBatchSize: "always",
  ratePerSecond: "always",
  rateBurst: "always",
  readRatePerSecond: "always",
  readBurst: "always",
  queueCapacity: "always",
  nonceGapTimeoutMs: "always",
  maxInFlight: "always",
  maxQueueMs: "always",
  resendAfterMs: "always",
  gatewayWait: "always",
  gatewayPaid: "always",
  gatewayRatePerSecond: "always",
  gatewayAddressRatePerSecond: "always",
  gatewayLogBlocks: "always",
  logLevel: "always",
};

/** Marks the settings of the service that it takes over at SIGHUP. */
export function markReloaded<S extends Settings>(settings: S): S {
  const marked = Object.entries(settings).map(([key, setting]) => {
    const reload = Object.hasOwn(CUSTODY_SETTINGS, key) ? "always" : RELOADED[key];
    return [key, reload === undefined ? setting : { ...setting, reload }];
  });
  return Object.fromEntries(marked) as S;
}

/** Tells whether a running service takes over a setting's new value. */
export function takesOver({ reload }: Setting<unknown>, before: unknown, now: unknown): boolean {
  return reload === "always" || (reload === "while given" && (before === undefined) === (now === undefined));
}
