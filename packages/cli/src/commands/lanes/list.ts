import { defineCommand } from "../../command.js";
import { laneJson, laneLines } from "../../lanes/laneOutput.js";
import { withLanes } from "../../lanes/withLanes.js";
import { STORE_ALTERNATIVES, STORE_SETTINGS } from "../../store/withStore.js";

export const list = defineCommand({
  description: "The command reads the service's database and changes nothing. The service may run meanwhile.",
  examples: ["gas-waiver lanes list"],
  settings: STORE_SETTINGS,
  rules: { alternatives: STORE_ALTERNATIVES },
  async run(values, { print }) {
    const lanes = await withLanes(values, (admin) => admin.list());
    if (values.json) print(JSON.stringify(lanes.map(laneJson)));
    else for (const line of lanes.flatMap(laneLines)) print(line);
  },
});
