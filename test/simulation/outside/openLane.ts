import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import { setLaneState } from "../../../packages/server/src/store/lanes/setLaneState.js";
import { queryNow } from "../engine/driver.js";
import type { SimulatedDatabase } from "../engine/simulatedDatabase.js";

/** Opens a lane over a connection of its own, as the command line does. */
export async function openLane({ control }: Pick<SimulatedDatabase, "control">, waiver: Hex): Promise<void> {
  const pool = {
    query: async (text: string, values: unknown[]) => {
      const rows = await queryNow(control, text, values);
      return { rows, rowCount: rows.length };
    },
  };
  const [lane] = await queryNow<{ chain: number }>(control, "select chain from lanes limit 1");
  if (lane) await setLaneState({ pool: pool as never }, lane.chain, hexToBytes(waiver), "open");
}
