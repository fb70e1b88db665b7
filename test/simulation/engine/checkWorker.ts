import { createRealm } from "../createRealm.js";
import { CHECKS } from "./checks.js";
import { keepToCore } from "./core.js";
import { installDriver } from "./driver.js";
import { installGlobals } from "./globals.js";
import { enter } from "./realm.js";
import { type DatabaseServer, SimulatedDatabase } from "./simulatedDatabase.js";

const LIMIT_MS = 600_000;

/** Makes this process one that runs the checks of the engine, each in a world of its own. */
export async function openWorker(server: DatabaseServer, name: string, place: number) {
  keepToCore(place);
  const database = await SimulatedDatabase.open(server, name);
  installGlobals();
  installDriver();
  return {
    async run(check: string): Promise<unknown> {
      await database.renew();
      const realm = createRealm(1, { database });
      enter(realm);
      try {
        const running =
          CHECKS[check]?.({ realm, database }) ?? Promise.reject(new Error(`no check ${check}`));
        return await realm.clock.runToEnd(running, LIMIT_MS, check);
      } finally {
        enter(undefined);
      }
    },
  };
}
