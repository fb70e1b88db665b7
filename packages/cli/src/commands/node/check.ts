import { checkNodes, DEFAULTS } from "@gas-waiver/server";
import { defineCommand } from "../../command.js";
import { CommandFailedError } from "../../errorMessage.js";
import { findingLines, refusesStart, summaryOf } from "../../node/nodeOutput.js";
import { CHAIN_SETTINGS } from "../../serve/chainSettings.js";
import {
  CUSTODIES,
  CUSTODY_FLAGS,
  CUSTODY_VARIABLES,
  splitCustody,
  waiverAddresses,
} from "../../serve/custodySettings.js";
import { LANE_LIMITS, REQUEST_LIMITS } from "../../serve/limitSettings.js";
import { CONFIG_SETTING } from "../../serve/serveFile.js";
import { addresses, switchedOn } from "../../settings/parsers.js";

export const check = defineCommand({
  description:
    "The command checks what the service needs of each node, and compares the nodes. It only reads: nothing is sent.\n" +
    "It takes those settings and variables of serve that concern nodes, and ends with status 1 where serve would\n" +
    "refuse to start.",
  failure: "a node is not as the service needs it",
  examples: ["gas-waiver node check --rpc-url https://node.example.com --chain-id 988 --waivers 0x…"],
  settings: {
    config: CONFIG_SETTING,
    rpcUrl: CHAIN_SETTINGS.rpcUrl,
    chainId: { ...CHAIN_SETTINGS.chainId, required: false },
    policySource: CHAIN_SETTINGS.policySource,
    reorgDepth: LANE_LIMITS.reorgDepth,
    maxWrapperBytes: REQUEST_LIMITS.maxWrapperBytes,
    waivers: {
      flag: "waivers",
      placeholder: "ADDRESSES",
      help: "Addresses of waivers, separated by commas, whose registration is checked; instead of their keys.",
      repeatable: true,
      parse: addresses,
    },
    ...CUSTODY_FLAGS,
    json: { flag: "json", help: "Print JSON, for programs.", parse: switchedOn },
    ...CUSTODY_VARIABLES,
  },
  rules: { alternatives: [{ ...CUSTODIES, keys: ["waivers", ...CUSTODIES.keys], required: false }] },
  async run(values, { print, signal }) {
    const { custody, otherValues } = splitCustody(values);
    const { rpcUrl, chainId, reorgDepth = DEFAULTS.reorgDepth, policySource, json } = otherValues;
    const findings = await checkNodes({
      rpcUrls: rpcUrl,
      chainId,
      reorgDepth,
      waivers: otherValues.waivers ?? waiverAddresses(custody),
      readsRegistry: policySource !== "config",
      maxWrapperBytes: otherValues.maxWrapperBytes ?? DEFAULTS.maxWrapperBytes,
      rpcTimeoutMs: DEFAULTS.rpcTimeoutMs,
      signal,
    });
    signal.throwIfAborted();
    if (json) print(JSON.stringify({ starts: !refusesStart(findings), findings }));
    else for (const line of [...findingLines(findings), summaryOf(findings)]) print(line);
    if (refusesStart(findings)) throw new CommandFailedError("the nodes are not as the service needs them");
  },
});
