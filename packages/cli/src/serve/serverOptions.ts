import type { WaiverAccount } from "@gas-waiver/protocol";
import type { ServerOptions } from "@gas-waiver/server";
import type { CustodyValues } from "../waivers/custodies.js";
import { certificateOf, withoutPorts } from "./portSettings.js";
import type { ServeValues } from "./serveSettings.js";

export type ServiceValues = Omit<ServeValues, keyof CustodyValues>;

/** Returns the options of the service for settings of the command, without those of custody and ports. */
export function serverOptions(values: ServiceValues, waivers: readonly WaiverAccount[]): ServerOptions {
  const tls = certificateOf(values);
  const {
    network: _network,
    apiKeysFile,
    apiKeys: keys,
    adminTokensFile,
    adminTokens,
    ...storeAndLimits
  } = withoutPorts(values);
  const { dataDir = ".gas-waiver", databaseUrlFile, ...others } = storeAndLimits;
  const { databaseUrl = databaseUrlFile, ...limits } = others;
  return {
    ...withoutUndefined({ ...limits, adminTokens: adminTokensFile ?? adminTokens }),
    waivers,
    ...(tls && { tls }),
    apiKeys: apiKeysFile ?? keys ?? [],
    ...(databaseUrl === undefined ? { dataDir } : { databaseUrl }),
  };
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

function withoutUndefined<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<T>;
}
