import { ProtocolError } from "@gas-waiver/protocol";
import type { Metrics } from "../../model/metrics.js";
import type { ResolvedOptions } from "../../model/options.js";

export type SocketLimitOptions = Pick<ResolvedOptions, "maxSockets" | "maxKeySockets">;

/** Bounds the open WebSockets, in all and for each key. */
export class SocketLimits {
  readonly #options: SocketLimitOptions;
  readonly #metrics: Pick<Metrics, "sockets">;
  readonly #openByKey = new Map<string, number>();
  #open = 0;

  constructor(options: SocketLimitOptions, metrics: Pick<Metrics, "sockets">) {
    this.#options = options;
    this.#metrics = metrics;
  }

  hasRoom(keyId: string): boolean {
    return this.#open < this.#options.maxSockets && this.#openOf(keyId) < this.#options.maxKeySockets;
  }

  /** @throws {@link ProtocolError} `SOCKETS_AT_CAPACITY`. */
  assertRoom(keyId: string): void {
    const { maxSockets, maxKeySockets } = this.#options;
    if (this.#openOf(keyId) >= maxKeySockets) throw atCapacity("this key", maxKeySockets);
    if (this.#open >= maxSockets) throw atCapacity("the service", maxSockets);
  }

  /** Counts a new connection. @returns a function to call when the connection is closed. */
  enter(keyId: string): () => void {
    this.#add(keyId, 1);
    return () => this.#add(keyId, -1);
  }

  #openOf(keyId: string): number {
    return this.#openByKey.get(keyId) ?? 0;
  }

  #add(keyId: string, count: 1 | -1): void {
    this.#open += count;
    this.#metrics.sockets(this.#open);
    const ofKey = this.#openOf(keyId) + count;
    if (ofKey === 0) this.#openByKey.delete(keyId);
    else this.#openByKey.set(keyId, ofKey);
  }
}

function atCapacity(owner: string, limit: number): ProtocolError {
  const message = `${owner} has ${limit} WebSockets open, as many as it may`;
  return new ProtocolError("SOCKETS_AT_CAPACITY", message, { capacity: limit });
}
