import pg from "pg";
import type { Logger } from "../model/log.js";
import { KEYS_CHANNEL } from "../store/apiKeys.js";
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
const RECONNECT_MS = 1_000;

type Message = { readonly work: true } | { readonly id: string; readonly notice: SubmissionUpdate };

/** The channel of {@link ReplicaNotificationsOptions.onKeysChanged} is everybody's. */
const channelOf = (replica: string) => `gas_waiver_${replica.replaceAll("-", "")}`;

export function openReplicaNotifications(options: ReplicaNotificationsOptions): ReplicaNotifications {
  const { store, log, replica } = options;
  const listener = listen(options);
  const send = (to: string, messages: readonly Message[]) => {
    if (messages.length === 0 || to === replica) return;
    store.pool
      .query("select pg_notify($1, t) from unnest($2::text[]) t", [channelOf(to), packets(messages)])
      .catch((error: Error) =>
        log.debug({ err: error.message }, "a replica was not told; it will look itself"),
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

/** Listens on a connection of its own, and connects again when it is lost. */
function listen({ store, log, replica, onResult, onWork, onKeysChanged }: ReplicaNotificationsOptions): {
  close(): Promise<void>;
} {
  let closed = false;
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;
  const receive = (payload: string | undefined) => {
    for (const message of JSON.parse(payload ?? "[]") as Message[]) {
      if ("work" in message) onWork();
      else onResult(message.id, message.notice);
    }
  };
  const connect = async () => {
    const fresh = new pg.Client(store.connection);
    const lost = (error?: Error) => {
      if (closed || client !== fresh) return;
      client = undefined;
      log.warn({ err: error?.message }, "the connection for news between replicas was lost");
      retry = setTimeout(start, RECONNECT_MS);
    };
    client = fresh;
    fresh.on("error", lost);
    fresh.on("end", () => lost());
    fresh.on("notification", ({ channel, payload }) => {
      if (channel === KEYS_CHANNEL) onKeysChanged(false);
      else receive(payload);
    });
    try {
      await fresh.connect();
      await fresh.query(`listen ${KEYS_CHANNEL}; listen ${channelOf(replica)}`);
      onKeysChanged(true);
    } catch (error) {
      lost(error as Error);
      await fresh.end().catch(() => {});
    }
  };
  const start = () => {
    connect().catch((error: Error) =>
      log.warn({ err: error.message }, "news between replicas cannot be heard"),
    );
  };
  start();
  return {
    async close() {
      closed = true;
      clearTimeout(retry);
      await client?.end().catch(() => {});
    },
  };
}
