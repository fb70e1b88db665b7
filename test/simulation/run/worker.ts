import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { keepToCore } from "../engine/core.js";
import { installDriver } from "../engine/driver.js";
import { installGlobals } from "../engine/globals.js";
import { type DatabaseServer, SimulatedDatabase } from "../engine/simulatedDatabase.js";
import { setUpOutside } from "../outside/outsideWorld.js";
import { type RunWorldOptions, runWorld, type WorldResult } from "../runWorld.js";
import type { WorldPlan } from "../world.js";

/** Makes this process one that runs worlds, one after the other. */
export async function openWorker(server: DatabaseServer, name: string, place: number) {
  keepToCore(place);
  await useNativeCrypto();
  const database = await SimulatedDatabase.open(server, name);
  installGlobals();
  installDriver();
  type Options = Pick<RunWorldOptions, "isRecorded" | "logLevel">;
  return {
    run: (plan: WorldPlan, options: Options): Promise<WorldResult> =>
      runWorld(plan, { ...options, database, setUp: setUpOutside }),
    close: () => database.close(),
  };
}
