import { checkNodes, type NodeFinding } from "@gas-waiver/server";
import { defineCommand } from "../command.js";
import { linesOf, refusesStart, summaryOf } from "../configCheck/finding.js";
import { nodeCheckOf, nodesOfNetworks } from "../configCheck/nodesOfNetworks.js";
import { CommandFailedError } from "../errorMessage.js";
import { CONFIG_SETTING } from "../serve/serveFile.js";
import { SERVE_SETTINGS } from "../serve/serveSettings.js";
import { addresses } from "../settings/parsers.js";
import { CUSTODY, CUSTODY_SETTINGS, splitCustody, waiverAddresses } from "../waivers/custodies.js";

export const check = defineCommand({
  description:
    "The command checks what the service needs of each node, and compares the nodes. It only reads: nothing is sent.\n" +
    "It takes those settings and variables of serve that concern nodes, and ends with status 1 where serve would\n" +
    "refuse to start. With a file that lists networks, it checks the nodes of each.",
  failure: "a node is not as the service needs it",
  examples: [
    "gas-waiver node check --rpc-url https://node.example.com --chain-id 988 --waivers 0x…",
    "gas-waiver node check --config gas-waiver.yaml",
  ],
  settings: {
    config: CONFIG_SETTING,
    rpcUrl: { ...SERVE_SETTINGS.rpcUrl, required: false },
    chainId: { ...SERVE_SETTINGS.chainId, required: false },
    policySource: SERVE_SETTINGS.policySource,
    reorgDepth: SERVE_SETTINGS.reorgDepth,
    maxWrapperBytes: SERVE_SETTINGS.maxWrapperBytes,
    waivers: {
      placeholder: "ADDRESSES",
      subject: CUSTODY,
      help: "Addresses of waivers, separated by commas, whose registration is checked; instead of their keys.",
      repeatable: true,
      parse: addresses,
    },
    ...CUSTODY_SETTINGS,
    json: { help: "Print JSON, for programs." },
  },
  check: (values) => {
    if (values.rpcUrl !== undefined) return [];
    if (values.config?.networks === undefined)
      return [`--rpc-url URL or GAS_WAIVER_RPC_URL is missing: ${SERVE_SETTINGS.rpcUrl.help}`];
    const isGiven = [values.chainId, values.waivers, values.policySource, values.reorgDepth].some(
      (value) => value !== undefined,
    );
    return isGiven
      ? ["settings of one network need its --rpc-url; without it, each network of the file is checked"]
      : [];
  },
  async run(values, { print, signal }) {
    const { custody, otherValues } = splitCustody(values);
    const { config, rpcUrl, json } = otherValues;
    const waivers = otherValues.waivers ?? waiverAddresses(custody);
    const networks =
      rpcUrl === undefined && config !== undefined
        ? nodesOfNetworks(config)
        : [{ name: undefined, options: nodeCheckOf({ ...otherValues, rpcUrl: rpcUrl ?? [] }, waivers) }];
    const checked = await Promise.all(
      networks.map(async ({ name, options }) => {
        const findings = await checkNodes({ ...options, signal });
        return {
          name,
          findings: findings.map((finding) => (name ? { network: name, ...finding } : finding)),
        };
      }),
    );
    signal.throwIfAborted();
    const findings = checked.flatMap((network) => network.findings);
    if (json) print(JSON.stringify({ starts: !refusesStart(findings), findings }));
    else {
      for (const { name, findings: own } of checked)
        for (const line of [...(name ? [`network ${name}`] : []), ...findingLines(own)]) print(line);
      print(summaryOf(findings));
    }
    if (refusesStart(findings)) throw new CommandFailedError("the nodes are not as the service needs them");
  },
});

const CHECK_WIDTH = 12;

/** The findings as text for a person, a group for each node, with the meaning of what is not ok. */
function findingLines(findings: readonly NodeFinding[]): string[] {
  const nodes = [...new Set(findings.map(({ node }) => node))];
  return nodes.flatMap((node) => [
    node === "all" ? "all nodes" : `node ${node}`,
    ...findings
      .filter((finding) => finding.node === node)
      .flatMap((finding) => linesOf(finding, CHECK_WIDTH, Number.POSITIVE_INFINITY)),
  ]);
}
