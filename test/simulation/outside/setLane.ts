import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import pg from "pg";
import type { LaneState } from "../../../packages/server/src/store/lanes/laneStatus.js";
import { setLaneState } from "../../../packages/server/src/store/lanes/setLaneState.js";
import type { SimulatedDatabase } from "../engine/simulatedDatabase.js";

/** An operator whose command has failed tries again after this time, in ms. */
const REPEAT_MS = 2_000;

/** Sets the state of a lane over a connection of its own, as the command line does, as soon as the database lets it. */
export async function setLane(
  database: Pick<SimulatedDatabase, "url">,
  waiver: Hex,
  state: LaneState,
): Promise<void> {
  while (!(await trySetLane(database, waiver, state)))
    await new Promise((resolve) => void setTimeout(resolve, REPEAT_MS));
}

async function trySetLane(
  { url }: Pick<SimulatedDatabase, "url">,
  waiver: Hex,
  state: LaneState,
): Promise<boolean> {
  const client = new pg.Client(url);
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ chain: number }>("select chain from lanes limit 1");
    const [lane] = rows;
    return (
      lane !== undefined && (await setLaneState({ pool: client }, lane.chain, hexToBytes(waiver), state))
    );
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
