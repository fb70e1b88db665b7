import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex } from "@gas-waiver/protocol";
import type { ReplicaWaivers } from "@gas-waiver/server";
import { defineCommand } from "../../command.js";
import { withLanes } from "../../lanes/withLanes.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

/** The time in which a replica says in the store which keys it has, in ms. */
const HEARD_WITHIN_MS = 3_000;

export const reload = defineCommand({
  description:
    "Every replica reads its settings again, as at SIGHUP, and takes over the waivers' keys alone: new keys get lanes, and keys\n" +
    "that are gone lose them. A replica that finds a mistake or cannot open a custody keeps its keys and says so in its output.\n" +
    "The command shows the keys of each replica some seconds later.",
  examples: ["gas-waiver waivers reload"],
  settings: STORE_SETTINGS,
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, { print, signal }) {
    const replicas = await withLanes(values, async (lanes) => {
      await lanes.reload();
      await sleep(HEARD_WITHIN_MS, undefined, { signal });
      return lanes.replicas();
    });
    if (values.json) print(JSON.stringify(replicas.map(replicaJson)));
    else if (replicas.length === 0) print("no replica is alive");
    else
      for (const { id, waivers } of replicas.map(replicaJson)) {
        print(`replica ${id} has ${waivers.length} key(s)`);
        for (const waiver of waivers) print(`  ${waiver}`);
      }
  },
});

function replicaJson({ id, waivers }: ReplicaWaivers) {
  return { id, waivers: waivers.map((waiver) => bytesToHex(waiver)) };
}
