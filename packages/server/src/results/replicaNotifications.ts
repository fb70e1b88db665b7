import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { Logger } from "../model/telemetry/log.js";
import { listen, notify } from "../store/database/notifications.js";
import { keysChannel } from "../store/keys/apiKeys.js";
import { reloadChannel } from "../store/lanes/replicas.js";
import type { Store } from "../store/store.js";
import type { ResultNotification, ResultsDependencies, SubmissionUpdate } from "./results.js";

export type ReplicaNotifications = ReturnType<typeof openReplicaNotifications>;

/** A lane that has work, and the replica that owns it. */
export interface LaneWithWork {
  readonly waiver: Uint8Array;
  readonly owner: string;
}

export interface NotificationHandlers {
  onResult(id: string, update: SubmissionUpdate): void;
  /** Lanes of this replica have work: those of the waivers, or any if undefined. */
  onWork(waivers?: readonly Uint8Array[]): void;
  /** API keys have changed. With `afterGap`, notifications may have been missed, so any key may have changed. */
  onKeysChanged(afterGap: boolean): void;
  /** An operator asks for the waivers' keys to be read again. Whoever asks sees in the store whether that was heard. */
  onReloadRequested(): void;
}

/** A payload must have fewer than 8,000 bytes. The update of most failures has some hundreds. */
const MAX_PAYLOAD_BYTES = 7_000;
/** JSON writes a character in up to six bytes. */
const MAX_MESSAGE_CHARACTERS = 1_000;

/** One message names at most so many lanes: more than that is as good as all, and a payload has room for it. */
const MAX_WAIVERS = 100;

/** Replicas of other versions read the same JSON, so its names stay. Where no waiver is named, any lane may have work. */
type Message =
  | { readonly work: true; readonly waivers: readonly Hex[] }
  | { readonly id: string; readonly notice: SubmissionUpdate };

/** Each replica listens on a channel of its own, and on those of the API keys and of the waivers' keys. */
const channelOf = (replica: string) => `gas_waiver_${replica.replaceAll("-", "")}`;

/**
 * Notifications between replicas by PostgreSQL's LISTEN and NOTIFY. A lost notification costs time only: each receiver
 * also polls the store.
 */
export function openReplicaNotifications({
  store,
  log,
  replica,
}: Pick<ResultsDependencies, "store" | "log" | "replica">) {
  let listener: { close(): Promise<void> } | undefined;
  const send = (to: string, messages: readonly Message[]) => {
    if (messages.length === 0 || to === replica) return;
    notify(store, channelOf(to), payloadsOf(messages)).catch((error: Error) =>
      log.debug({ err: error.message }, "a replica was not notified; it polls the store"),
    );
  };
  return {
    /** Sends the results of these submissions to the replicas that accepted them. */
    notifyResults(results: readonly ResultNotification[]) {
      for (const to of new Set(results.map(({ origin }) => origin))) {
        const forReplica = results.filter(({ origin }) => origin === to);
        send(
          to,
          forReplica.map(({ id, update }) => ({ id, notice: shorten(update) })),
        );
      }
    },
    /** Tells the replicas that own these lanes that they have work. */
    announceWork(lanes: readonly LaneWithWork[]) {
      for (const to of new Set(lanes.map(({ owner }) => owner))) {
        const waivers = new Set(
          lanes.filter(({ owner }) => owner === to).map(({ waiver }) => bytesToHex(waiver)),
        );
        send(to, [{ work: true, waivers: waivers.size > MAX_WAIVERS ? [] : [...waivers] }]);
      }
    },
    /** Begins to listen for this replica. Call it once. */
    listen(handlers: NotificationHandlers) {
      listener = listenForReplica(store, log, channelOf(replica), handlers);
    },
    async close() {
      await listener?.close();
    },
  };
}

function listenForReplica(store: Store, log: Logger, channel: string, handlers: NotificationHandlers) {
  const keys = keysChannel(store.pool);
  const reload = reloadChannel(store.pool);
  const events = {
    onListening: () => handlers.onKeysChanged(true),
    onNotification(notified: string, payload: string) {
      if (notified === keys) handlers.onKeysChanged(false);
      else if (notified === reload) handlers.onReloadRequested();
      else {
        try {
          receive(payload, handlers);
        } catch (error) {
          // Every role of the database may notify, and none may end the service by that.
          log.warn({ err: (error as Error).message }, "a notification between replicas cannot be read");
        }
      }
    },
  };
  return listen(store, [keys, reload, channel], events, log);
}

function receive(payload: string, { onResult, onWork }: NotificationHandlers): void {
  for (const message of JSON.parse(payload) as Message[]) {
    if ("work" in message) onWork(message.waivers.length > 0 ? message.waivers.map(hexToBytes) : undefined);
    else onResult(message.id, message.notice);
  }
}

function shorten(update: SubmissionUpdate): SubmissionUpdate {
  if (update.state !== "failed") return update;
  return { ...update, message: update.message.slice(0, MAX_MESSAGE_CHARACTERS) };
}

/** Packs the messages into as few payloads as hold them, each a JSON array. */
function payloadsOf(messages: readonly Message[]): string[] {
  const payloads: string[] = [];
  let texts: string[] = [];
  let size = 0;
  for (const text of messages.map((message) => JSON.stringify(message))) {
    const bytes = Buffer.byteLength(text) + 1;
    if (size + bytes > MAX_PAYLOAD_BYTES) {
      payloads.push(`[${texts.join(",")}]`);
      texts = [];
      size = 0;
    }
    texts.push(text);
    size += bytes;
  }
  payloads.push(`[${texts.join(",")}]`);
  return payloads;
}
