import type { LaneFindings } from "@gas-waiver/server";
import { type Context, defineCommand } from "../../command.js";
import { findingsJson, lossLines, OUTCOMES } from "../../lanes/findingsOutput.js";
import { laneLines } from "../../lanes/laneOutput.js";
import { NODE_SETTING, withLanes } from "../../lanes/withLanes.js";
import { switchedOn } from "../../settings/parsers.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

export const doctor = defineCommand({
  description:
    "The command prints each difference, and what the service makes of it once the chain proves it. With --repair, the\n" +
    "command resolves itself what can be proved, in lanes that no service works. Otherwise it changes nothing.",
  examples: ["gas-waiver lanes doctor --rpc-url http://127.0.0.1:8545"],
  settings: {
    ...NODE_SETTING,
    repair: {
      help: "Resolve the differences, in lanes that no service works.",
      parse: switchedOn,
    },
    ...STORE_SETTINGS,
  },
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, context) {
    const laneFindings = await withLanes(values, (admin) =>
      admin.examine(values.rpcUrl, { repair: values.repair === true }),
    );
    if (values.json) context.print(findingsJson(laneFindings));
    else printFindings(laneFindings, context);
  },
});

function printFindings(laneFindings: readonly LaneFindings[], { print }: Context): void {
  for (const found of laneFindings) {
    const { lane, chainNonce, assigned, findings, repaired } = found;
    for (const line of laneLines(lane)) print(line);
    print(`  the chain's next nonce is ${chainNonce}; ${nonceText(assigned)}`);
    for (const { candidate, outcome } of findings)
      print(`  ${candidate.id} is ${candidate.state}: ${OUTCOMES[outcome.kind].text}`);
    const losses = lossLines(found);
    for (const line of losses) print(`  ${line}`);
    if (findings.length === 0 && losses.length === 0) print("  store and chain agree");
    else
      print(
        repaired
          ? "  reconciled with the chain: run the command again to see what is left"
          : "  nothing was changed",
      );
  }
}

function nonceText(assigned: LaneFindings["assigned"]): string {
  if (assigned === undefined) return "no nonce waits for a block";
  return `${assigned.count} nonce(s) wait for a block, ${assigned.lowest} to ${assigned.highest}`;
}
