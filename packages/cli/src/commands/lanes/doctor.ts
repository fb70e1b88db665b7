import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneFindings } from "@gas-waiver/server";
import { type Context, defineCommand } from "../../command.js";
import { laneJson, laneLines } from "../../lanes/laneOutput.js";
import { withLanes } from "../../lanes/withLanes.js";
import { switchedOn, url } from "../../settings/parsers.js";
import { ONE_STORE, STORE_SETTINGS } from "../../store/withStore.js";

export const doctor = defineCommand({
  description:
    "It prints each difference, and how the service will resolve it at its next sweep. It changes nothing, unless\n" +
    "--repair is given: then it resolves the differences itself, in lanes that no service works.",
  settings: {
    rpcUrl: {
      flag: "rpc-url",
      env: "GAS_WAIVER_RPC_URL",
      placeholder: "URL",
      help: "JSON-RPC URL of the chain's node.",
      required: true,
      parse: url("http:", "https:"),
    },
    repair: {
      flag: "repair",
      help: "Resolve the differences, in lanes that no service works.",
      parse: switchedOn,
    },
    ...STORE_SETTINGS,
  },
  rules: { alternatives: ONE_STORE },
  async run(values, context) {
    const found = await withLanes(values, (admin) =>
      admin.examine(values.rpcUrl, { repair: values.repair === true }),
    );
    if (values.json) context.print(JSON.stringify(found.map(findingsJson), jsonValue));
    else printFindings(found, context);
  },
});

/** The findings as JSON. Programs read these names. */
function findingsJson({ lane, chainNonce, taken, findings, repaired }: LaneFindings) {
  const differences = findings.map(({ candidate, outcome }) => ({
    suspect: candidate,
    fate: { ...outcome, kind: OUTCOMES[outcome.kind].json },
  }));
  return { lane: laneJson(lane), chainNonce, taken, findings: differences, repaired };
}

function jsonValue(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? bytesToHex(value) : value;
}

function printFindings(found: readonly LaneFindings[], { print }: Context): void {
  for (const { lane, chainNonce, taken, findings, repaired } of found) {
    for (const line of laneLines(lane)) print(line);
    print(`  the chain's next nonce is ${chainNonce}; ${nonceText(taken)}`);
    for (const { candidate, outcome } of findings)
      print(`  ${candidate.id} is ${candidate.state}: ${OUTCOMES[outcome.kind].text}`);
    if (findings.length === 0) print("  store and chain agree");
    else print(repaired ? "  repaired" : "  nothing was changed");
  }
}

function nonceText(taken: LaneFindings["taken"]): string {
  if (taken === undefined) return "no nonce waits for a block";
  return `${taken.count} nonce(s) wait for a block, ${taken.lowest} to ${taken.highest}`;
}

/** The outcomes of a submission on the chain, by the name in the JSON and as text for a person. */
const OUTCOMES = {
  included: { json: "included", text: "the chain has executed it; it becomes included" },
  nonceUsed: {
    json: "overtaken",
    text: "the chain has used its sender's nonce for another transaction; it becomes failed (NONCE_TOO_LOW)",
  },
  replaced: {
    json: "displaced",
    text: "the chain has used its waiver's nonce for another wrapper; it is queued again",
  },
} as const;
