import { ADMIN_ROUTES, type Server, type ServerOptions } from "@gas-waiver/server";
import { CloseStack } from "../closeStack.js";
import { defineCommand } from "../command.js";
import { aborted } from "../interruption.js";
import { keyFile } from "../settings/parsers.js";
import { openServer } from "./openServer.js";
import { SERVE_AGREEMENT, SERVE_SETTINGS, type ServeValues } from "./serveSettings.js";

export const serve = defineCommand({
  description:
    "Every flag can be given as the environment variable beside it; a flag wins over its variable.",
  settings: SERVE_SETTINGS,
  agreement: SERVE_AGREEMENT,
  async run(values, { print, signal, onHangup }) {
    const owned = new CloseStack();
    try {
      const { host, port: listenPort, metricsPort, waiverKeyFile, adminPort, adminHost } = values;
      const admin = adminPort === undefined ? undefined : { host: adminHost, port: adminPort };
      const opening = { host, port: listenPort, metricsPort, admin, owned, signal };
      const { server, url: at, metricsUrl, adminUrl } = await openServer(serverOptions(values), opening);
      print(`${server.earlierSubmissions} earlier submission(s) found in the store`);
      if (metricsUrl !== undefined) print(`metrics at ${metricsUrl}/metrics`);
      if (adminUrl !== undefined) print(`admin API at ${adminUrl}${ADMIN_ROUTES.list.path}`);
      if (waiverKeyFile) onHangup?.(() => readKeysAgain(waiverKeyFile.path, server, print));
      print(`ready: service at ${at} for chain ${values.chainId}`);
      await aborted(signal);
    } finally {
      await owned.close();
    }
  },
});

/** The keys of the file as it is now; a file that is wrong changes nothing. */
function readKeysAgain(path: string, server: Server, print: (line: string) => void): void {
  const set = async () => {
    const { keys } = keyFile(path);
    await server.setWaiverKeys(keys);
    print(`${keys.length} waiver key(s) read again`);
  };
  set().catch((error: Error) => print(`the waiver keys stay as they were: ${path} ${error.message}`));
}

function serverOptions(values: ServeValues): ServerOptions {
  const { host, port: listenPort, metricsPort, adminHost, adminPort, ...others } = values;
  const { waiverKeyFile, waiverKeys, apiKeysFile, apiKeys: keys, ...rest } = others;
  const { dataDir = ".gas-waiver", databaseUrl, ...limits } = rest;
  return {
    ...withoutUndefined(limits),
    waiverKeys: waiverKeyFile?.keys ?? waiverKeys ?? [],
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
