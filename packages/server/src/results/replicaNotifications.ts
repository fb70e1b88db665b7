import type { Logger } from "../model/log.js";
import { KEYS_CHANNEL } from "../store/keys/apiKeys.js";
import { listen, notify } from "../store/notifications.js";
import type { Store } from "../store/store.js";
import type { SubmissionUpdate } from "./results.js";

/**
 * News between replicas, by PostgreSQL's notifications. A lost one costs time only: whoever waits for it also
 * looks into the store now and then.
 */
export interface ReplicaNotifications {
  /** Tells the replica that took these submissions what became of them. */
  notifyResults(
    news: readonly { readonly origin: string; readonly id: string; readonly notice: SubmissionUpdate }[],
  ): void;
  /** Tells the replica that works these lanes that there is work. */
  announceWork(owners: readonly string[]): void;
  close(): Promise<void>;
}

export interface ReplicaNotificationsOptions {
  readonly store: Store;
  readonly log: Logger;
  /** Names this replica. */
  readonly replica: string;
  onResult(id: string, notice: SubmissionUpdate): void;
  onWork(): void;
  /** API keys have changed; or everything may have, `anew`, while nothing was heard. */
  onKeysChanged(anew: boolean): void;
}

/** A notification may hold 8,000 bytes; a piece of news of a failure is some hundreds. */
const MAX_PAYLOAD_BYTES = 7_000;
/** Escaped, one may have six bytes. */
const MAX_MESSAGE_CHARACTERS = 1_000;

type Message = { readonly work: true } | { readonly id: string; readonly notice: SubmissionUpdate };

/** The channel of {@link ReplicaNotificationsOptions.onKeysChanged} is everybody's. */
const channelOf = (replica: string) => `gas_waiver_${replica.replaceAll("-", "")}`;

export function openReplicaNotifications(options: ReplicaNotificationsOptions): ReplicaNotifications {
  const { store, log, replica } = options;
  const listener = listenForReplica(options);
  const send = (to: string, messages: readonly Message[]) => {
    if (messages.length === 0 || to === replica) return;
    notify(store, channelOf(to), packets(messages)).catch((error: Error) =>
      log.debug({ err: error.message }, "a replica was not notified; it will poll the store"),
    );
  };
  return {
    notifyResults(news) {
      for (const to of new Set(news.map(({ origin }) => origin))) {
        const own = news.filter(({ origin }) => origin === to);
        send(
          to,
          own.map(({ id, notice }) => ({ id, notice: shorten(notice) })),
        );
      }
    },
    announceWork(owners) {
      for (const owner of new Set(owners)) send(owner, [{ work: true }]);
    },
    close: () => listener.close(),
  };
}

function shorten(notice: SubmissionUpdate): SubmissionUpdate {
  if (notice.state !== "failed") return notice;
  return { ...notice, message: notice.message.slice(0, MAX_MESSAGE_CHARACTERS) };
}

/** As few notifications as hold the messages: each a JSON array. */
function packets(messages: readonly Message[]): string[] {
  const all: string[] = [];
  let packet: string[] = [];
  let size = 0;
  for (const text of messages.map((message) => JSON.stringify(message))) {
    const bytes = Buffer.byteLength(text) + 1;
    if (size + bytes > MAX_PAYLOAD_BYTES) {
      all.push(`[${packet.join(",")}]`);
      packet = [];
      size = 0;
    }
    packet.push(text);
    size += bytes;
  }
  all.push(`[${packet.join(",")}]`);
  return all;
}

function listenForReplica({
  store,
  log,
  replica,
  onResult,
  onWork,
  onKeysChanged,
}: ReplicaNotificationsOptions): { close(): Promise<void> } {
  const receive = (payload: string) => {
    for (const message of JSON.parse(payload) as Message[]) {
      if ("work" in message) onWork();
      else onResult(message.id, message.notice);
    }
  };
  const events = {
    onListening: () => onKeysChanged(true),
    onNotification(channel: string, payload: string) {
      if (channel === KEYS_CHANNEL) onKeysChanged(false);
      else receive(payload);
    },
  };
  return listen(store, [KEYS_CHANNEL, channelOf(replica)], events, log);
}
