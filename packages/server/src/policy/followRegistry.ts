import { bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../model/log.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";
import type { BlockRef, Registry, RegistryReading } from "./registry.js";

/** Keeps what the registry says of the waivers, and reads it again when that may have changed. */
export interface RegistryFollower {
  /**
   * Reads it for the first time, and follows it from then on.
   * @throws what {@link Registry.read} throws; it is followed all the same.
   */
  start(): Promise<void>;
  /** There is a new block, or another waiver. */
  refresh(): void;
  close(): Promise<void>;
}

export interface FollowRegistryOptions {
  readonly registry: Registry;
  readonly log: Logger;
  readonly pollIntervalMs: number;
  /** The waivers to ask for. */
  waivers(): readonly Uint8Array[];
  /** Something was read: in the order of `waivers`. */
  onReading(waivers: readonly Uint8Array[], reading: RegistryReading): void;
}

/**
 * Looks at the head with every new block. Nothing but the head is asked for while no event came; after an event, and
 * whenever one may have been missed (a reorg, a node that was away, another waiver), everything is read again.
 */
export function followRegistry({
  registry,
  log,
  pollIntervalMs,
  waivers,
  onReading,
}: FollowRegistryOptions): RegistryFollower {
  const pause = createWakeableTimer();
  let closed = false;
  // The block that is known, and for which waivers. Undefined: something may have been missed.
  let known: { readonly block: BlockRef; readonly names: string } | undefined;
  let failing = false;
  const read = async (asked: readonly Uint8Array[], names: string) => {
    const reading = await registry.read(asked);
    onReading(asked, reading);
    known = { block: reading.block, names };
  };
  const lookOnce = async () => {
    const asked = waivers();
    const names = asked.map(bytesToHex).join();
    if (known?.names !== names) return read(asked, names);
    const news = await registry.changesSince(known.block);
    if (news.kind === "nothing") known = { block: news.block, names };
    else await read(asked, names);
  };
  const attempt = async () => {
    try {
      await lookOnce();
      if (failing) log.info("the registry is read again");
      failing = false;
    } catch (error) {
      known = undefined;
      if (!failing) log.warn({ err: (error as Error).message }, "the registry cannot be read");
      failing = true;
      throw error;
    }
  };
  const loop = async () => {
    while (!closed) {
      await pause.rest(pollIntervalMs, true);
      if (!closed) await attempt().catch(() => {});
    }
  };
  let running: Promise<void> = Promise.resolve();
  return {
    async start() {
      try {
        await attempt();
      } finally {
        running = loop();
      }
    },
    refresh: () => pause.wake(),
    async close() {
      closed = true;
      pause.end();
      await running;
    },
  };
}
