import { defineCommand } from "../../command.js";
import { laneJson, laneLines } from "../../lanes/laneOutput.js";
import { withLanes } from "../../lanes/withLanes.js";
import { ONE_STORE, STORE_SETTINGS } from "../../store/withStore.js";

export const list = defineCommand({
  description: "It reads the service's database and changes nothing. The service may run meanwhile.",
  settings: STORE_SETTINGS,
  rules: { alternatives: ONE_STORE },
  async run(values, { print }) {
    const lanes = await withLanes(values, (admin) => admin.list());
    if (values.json) print(JSON.stringify(lanes.map(laneJson)));
    else for (const line of lanes.flatMap(laneLines)) print(line);
  },
});
