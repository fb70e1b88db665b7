import { Activity } from "./engine/activity.js";
import { VirtualClock } from "./engine/clock.js";
import { endSessions } from "./engine/databaseFaults.js";
import { Journal } from "./engine/journal.js";
import { NotificationInbox } from "./engine/notificationInbox.js";
import { stream } from "./engine/random.js";
import type { Realm } from "./engine/realm.js";
import { Sessions } from "./engine/sessions.js";
import type { SimulatedDatabase } from "./engine/simulatedDatabase.js";
import { SqlGate } from "./engine/sqlGate.js";
import { SimulatedNetwork } from "./net.js";

/** Makes the clock, the network and the gate to the database of a world. */
export function createRealm(
  seed: number,
  { database, isRecorded = false }: { readonly database: SimulatedDatabase; readonly isRecorded?: boolean },
) {
  const activity = new Activity();
  const clock = new VirtualClock(activity);
  const journal = new Journal(isRecorded);
  const network = new SimulatedNetwork({ clock, journal, random: stream(seed, "network") });
  const gate = new SqlGate({
    ...{ clock, activity, random: stream(seed, "database") },
    isBlocked: ({ pid }) => database.isBlocked(pid),
  });
  const sessions = new Sessions(clock, {
    onClosing: (session) => void activity.count(session.closed()),
    cancel: (session) => void gate.endWait(session, () => database.cancelStatement(session.pid)),
    end: (session) => void gate.exclusively(() => endSessions(database, [session])),
  });
  return {
    ...{ activity, clock, journal, network, gate, sessions, inbox: new NotificationInbox() },
    entropy: stream(seed, "entropy"),
    lendConnection: (client) => database.lendConnection(client),
    keepConnection: (client) => database.keepConnection(client),
    showTime: () => database.show(clock.now),
    request: (options) => network.request(options),
  } satisfies Realm & { network: SimulatedNetwork };
}

export type WorldRealm = ReturnType<typeof createRealm>;
