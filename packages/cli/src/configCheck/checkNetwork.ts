import { bytesToHex } from "@gas-waiver/protocol";
import { checkCustody, checkNodes, DEFAULTS } from "@gas-waiver/server";
import type { Context } from "../command.js";
import { CUSTODIES, waiverAddresses } from "../serve/custodySettings.js";
import { type OpenWaivers, openWaivers } from "../serve/openWaivers.js";
import type { NetworkConfig } from "../serve/serveConfig.js";
import type { NetworkValues } from "../serve/serveSettings.js";
import { UsageError } from "../settings/readSettings.js";
import type { ConfigFinding } from "./finding.js";

/** Has each custody sign once, and checks the nodes with the registration of the waivers. */
export async function checkNetwork(
  { place, values }: NetworkConfig,
  context: Context,
): Promise<ConfigFinding[]> {
  const network = place?.name === undefined ? {} : { network: place.name };
  const [custody, nodes] = await Promise.all([
    checkWaivers(values, context),
    checkNodesOf(values, context.signal),
  ]);
  return [...custody, ...nodes].map((finding) => ({ ...finding, ...network }));
}

type Partly<T> = { readonly [K in keyof T]?: T[K] | undefined };

async function checkWaivers(values: Partly<NetworkValues>, context: Context): Promise<ConfigFinding[]> {
  const base = { area: "custody", check: "signature" } as const;
  // Without any, the settings have said so.
  if (CUSTODIES.keys.every((custody) => values[custody] === undefined)) return [];
  const findings: ConfigFinding[] = [];
  const warn = (found: string) =>
    findings.push({ ...base, subject: "keys", verdict: "warning", found: found.replace(/^warning: /, "") });
  let open: OpenWaivers;
  try {
    open = await openWaivers({ chainId: 0, ...values } as Parameters<typeof openWaivers>[0], {
      ...context,
      print: warn,
    });
  } catch (error) {
    const all = error instanceof UsageError ? error.problems : [(error as Error).message];
    return all.map((found) => ({ ...base, subject: "keys", verdict: "refuses", found }));
  }
  const tries = open.waivers.map(async (waiver): Promise<ConfigFinding> => {
    const subject = bytesToHex(waiver.address);
    try {
      await checkCustody(waiver, values.custodyTimeoutMs);
      return { ...base, subject, verdict: "ok", found: "it signs with the key of its address" };
    } catch (error) {
      return { ...base, subject, verdict: "refuses", found: (error as Error).message };
    }
  });
  const addresses = open.waivers.map(({ address }) => bytesToHex(address));
  const twice = addresses.filter((subject, i) => addresses.indexOf(subject) !== i);
  const found = "the custody has its key twice";
  const repeated = twice.map((subject): ConfigFinding => ({ ...base, subject, verdict: "refuses", found }));
  return [...findings, ...repeated, ...(await Promise.all(tries))];
}

async function checkNodesOf(values: Partly<NetworkValues>, signal: AbortSignal): Promise<ConfigFinding[]> {
  const { rpcUrl, chainId, reorgDepth = DEFAULTS.reorgDepth, policySource, allowedTargets } = values;
  if (rpcUrl === undefined) return [];
  const findings = await checkNodes({
    rpcUrls: rpcUrl,
    chainId,
    reorgDepth,
    waivers: waiverAddresses(values as NetworkValues),
    readsRegistry: (policySource ?? (allowedTargets ? "config" : "registry")) !== "config",
    maxWrapperBytes: values.maxWrapperBytes ?? DEFAULTS.maxWrapperBytes,
    rpcTimeoutMs: DEFAULTS.rpcTimeoutMs,
    signal,
  });
  return findings.map(({ node, mayPass: _, ...finding }) => ({ ...finding, area: "nodes", subject: node }));
}
