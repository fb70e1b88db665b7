import { bytesToHex, hexToBytes, type WaiverAccount } from "@gas-waiver/protocol";
import { checkCustody, checkNodes } from "@gas-waiver/server";
import type { Context } from "../command.js";
import type { NetworkConfig } from "../serve/serveConfig.js";
import type { NetworkValues } from "../serve/serveSettings.js";
import { CUSTODY_SETTINGS, chosenCustody, problemsOfCustody, waiverAddresses } from "../waivers/custodies.js";
import { problemsIn, tryToOpenWaivers } from "../waivers/openWaivers.js";
import type { ConfigFinding } from "./finding.js";
import { nodeCheckOf } from "./nodesOfNetworks.js";
import { type Partly, unusableSettings } from "./unusableSettings.js";

/** Has each custody sign once, and checks the nodes with the registration of the waivers. */
export async function checkNetwork(config: NetworkConfig, context: Context): Promise<ConfigFinding[]> {
  const { name } = config.place ?? {};
  const { waivers, findings } = await checkWaivers(config, context);
  const nodes = await checkNodesOf(config, waivers, context.signal);
  return [...findings, ...nodes].map((finding) =>
    name === undefined ? finding : { ...finding, network: name },
  );
}

interface CheckedWaivers {
  readonly waivers: readonly WaiverAccount[];
  readonly findings: readonly ConfigFinding[];
}

const SIGNATURE = { area: "custody", check: "signature" } as const;

async function checkWaivers(config: NetworkConfig, context: Context): Promise<CheckedWaivers> {
  const { custody, sources } = config;
  const { chainId = 0, custodyTimeoutMs }: Partly<NetworkValues> = config.values;
  const findings: ConfigFinding[] = [];
  const add = (verdict: ConfigFinding["verdict"], found: string, subject = "keys") =>
    findings.push({ ...SIGNATURE, subject, verdict, found });
  const unusable = unusableSettings({ values: custody, sources }, Object.keys(CUSTODY_SETTINGS));
  // Opened without its passphrase or PIN, a custody would ask for one, or a token would count a wrong one.
  if (unusable.length > 0 || problemsOfCustody(custody).length > 0) {
    add("not proven", "the settings of the custody cannot be used, so no key was tried");
    return { waivers: [], findings };
  }
  // Without any, the settings have said so.
  if (chosenCustody(custody) === undefined) return { waivers: [], findings };
  const warn = (line: string) => add("warning", line.replace(/^warning: /, ""));
  const { waivers, failures } = await tryToOpenWaivers(
    { ...custody, chainId, custodyTimeoutMs },
    { ...context, print: warn },
  );
  for (const problem of failures.flatMap(problemsIn)) add("refuses", problem);
  const addresses = waivers.map(({ address }) => bytesToHex(address));
  for (const twice of addresses.filter((address, i) => addresses.indexOf(address) !== i))
    add("refuses", "the custody has its key twice", twice);
  const signatures = waivers.map((waiver) => checkSignature(waiver, custodyTimeoutMs));
  return { waivers, findings: [...findings, ...(await Promise.all(signatures))] };
}

async function checkSignature(waiver: WaiverAccount, timeoutMs: number | undefined): Promise<ConfigFinding> {
  const subject = bytesToHex(waiver.address);
  try {
    await checkCustody(waiver, timeoutMs);
    return { ...SIGNATURE, subject, verdict: "ok", found: "it signs with the key of its address" };
  } catch (error) {
    return { ...SIGNATURE, subject, verdict: "refuses", found: (error as Error).message };
  }
}

async function checkNodesOf(
  config: NetworkConfig,
  opened: readonly WaiverAccount[],
  signal: AbortSignal,
): Promise<ConfigFinding[]> {
  const values: Partly<NetworkValues> = config.values;
  const { rpcUrl } = values;
  if (unusableSettings(config, ["rpcUrl"]).length > 0) {
    const found = "the setting of the nodes cannot be used, so no node was asked";
    return [{ area: "nodes", subject: "", check: "answers", verdict: "not proven", found }];
  }
  if (rpcUrl === undefined) return [];
  // Some custodies name their waivers only when open; for the rest, the settings name the waivers.
  const named = [...opened.map(({ address }) => address), ...waiverAddresses(config.custody)];
  const waivers = [...new Set(named.map((address) => bytesToHex(address)))].map((address) =>
    hexToBytes(address),
  );
  const findings = await checkNodes({ ...nodeCheckOf({ ...values, rpcUrl }, waivers), signal });
  return findings.map(({ node, mayPass: _, ...finding }) => {
    const isSkipped = values.skipNodeCheck && finding.verdict === "refuses" && !NEEDED.has(finding.check);
    return { ...finding, ...(isSkipped && { verdict: "warning" }), area: "nodes", subject: node };
  });
}

/** A service starts on no other chain, whatever its settings skip. */
const NEEDED: ReadonlySet<string> = new Set(["answers", "chain"]);
