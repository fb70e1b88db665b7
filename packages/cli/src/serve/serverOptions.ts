import type { WaiverAccount } from "@gas-waiver/protocol";
import type { ServerOptions } from "@gas-waiver/server";
import { withoutUndefined } from "../settings/setting.js";
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
