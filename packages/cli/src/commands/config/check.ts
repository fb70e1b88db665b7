import { STABLE_NETWORKS } from "@gas-waiver/protocol";
import type { Command } from "../../command.js";
import { checkNetwork } from "../../configCheck/checkNetwork.js";
import { checkPorts, checkTls } from "../../configCheck/checkPlace.js";
import { checkPlaceOfStore } from "../../configCheck/checkPlaceOfStore.js";
import { AREAS, type ConfigFinding, linesOf, refusesStart, summaryOf } from "../../configCheck/finding.js";
import { CommandFailedError } from "../../errorMessage.js";
import {
  type NetworkConfig,
  resolveServeConfig,
  SERVE_COMMAND_SETTINGS,
  type ServeConfig,
} from "../../serve/serveConfig.js";
import { checksumWarning } from "../../settings/checksumWarning.js";
import { JSON_SETTING } from "../../waivers/waiverSettings.js";

export const check: Command = {
  description:
    "The command takes the settings of serve, names every mistake in them, and tries what can be tried without\n" +
    "sending: the certificate, the ports, the disk, the database, one signature of each custody, the nodes, and the\n" +
    "registration of the waivers. It goes on after mistakes with what is readable, and changes nothing.",
  failure: "serve would refuse to start",
  examples: ["gas-waiver config check --config gas-waiver.yaml"],
  settings: { ...SERVE_COMMAND_SETTINGS, json: JSON_SETTING },
  async run(argv, context) {
    const { config, problems, others } = resolveServeConfig(argv, context.env, { json: JSON_SETTING });
    const settings = problems.map(
      (found): ConfigFinding => ({
        area: "settings",
        subject: "",
        check: "setting",
        verdict: "refuses",
        found,
      }),
    );
    if (problems.length === 0) {
      const found = "all settings can be used";
      settings.push({ area: "settings", subject: "", check: "settings", verdict: "ok", found });
    }
    settings.push(...config.networks.flatMap(checkTargets));
    const findings = [...settings, ...(await findingsOf(config, context))];
    context.signal.throwIfAborted();
    if (others.json) context.print(JSON.stringify({ starts: !refusesStart(findings), findings }));
    else for (const line of findingLines(findings, context.terminal?.columns)) context.print(line);
    if (refusesStart(findings)) throw new CommandFailedError("the service would not start like this");
  },
};

const CHECK_WIDTH = 13;

/** The findings as lines for a person: a group for each area, then one sentence for all. */
function findingLines(findings: readonly ConfigFinding[], width = 120): string[] {
  const groups = AREAS.flatMap((area) => {
    const ofArea = findings.filter((finding) => finding.area === area);
    return ofArea.length === 0 ? [] : [area, ...ofArea.flatMap((finding) => placedLines(finding, width))];
  });
  return [...groups, summaryOf(findings)];
}

function placedLines(finding: ConfigFinding, width: number): string[] {
  const where = [finding.network, finding.subject].filter(Boolean).join(" ");
  const found = where === "" ? finding.found : `${where}: ${finding.found}`;
  return linesOf({ ...finding, found }, CHECK_WIDTH, width);
}

const IDS = new Set(Object.values(STABLE_NETWORKS).map(({ chainId }) => Number(chainId)));

/** Addresses without a checksum, where the chain asks for it (D4). */
function checkTargets({ place, values }: NetworkConfig): ConfigFinding[] {
  const found = checksumWarning(values.allowedTargets);
  if (found === undefined || !IDS.has(values.chainId ?? 0)) return [];
  const network = place?.name === undefined ? {} : { network: place.name };
  return [{ area: "settings", subject: "", check: "checksum", verdict: "warning", found, ...network }];
}

async function findingsOf(
  config: ServeConfig,
  context: Parameters<Command["run"]>[1],
): Promise<ConfigFinding[]> {
  const { shared, networks } = config;
  const [ports, store, ...ofNetworks] = await Promise.all([
    checkPorts(shared),
    checkPlaceOfStore(config),
    ...networks.map((network) => checkNetwork(network, context)),
  ]);
  return [...checkTls(shared), ...ports, ...store, ...ofNetworks.flat()];
}
