import { ProtocolError } from "@gas-waiver/protocol";
import type { Metrics } from "../../model/metrics.js";
import type { ResolvedOptions } from "../../model/options.js";

export type SocketLimitOptions = Pick<ResolvedOptions, "maxSockets" | "maxKeySockets">;

/** Bounds the open WebSockets, in all and for each key. */
export class SocketLimits {
  readonly #limits: SocketLimitOptions;
  readonly #metrics: Pick<Metrics, "sockets">;
  readonly #ofKey = new Map<string, number>();
  #all = 0;

  constructor(limits: SocketLimitOptions, metrics: Pick<Metrics, "sockets">) {
    this.#limits = limits;
    this.#metrics = metrics;
  }

  hasRoom(keyId: string): boolean {
    return this.#all < this.#limits.maxSockets && this.#of(keyId) < this.#limits.maxKeySockets;
  }

  /** @throws {@link ProtocolError} `SOCKETS_AT_CAPACITY`. */
  assertRoom(keyId: string): void {
    const { maxSockets, maxKeySockets } = this.#limits;
    if (this.#of(keyId) >= maxKeySockets) throw full("this key", maxKeySockets);
    if (this.#all >= maxSockets) throw full("the service", maxSockets);
  }

  /** @returns what to call when the connection is gone. */
  enter(keyId: string): () => void {
    this.#add(keyId, 1);
    return () => this.#add(keyId, -1);
  }

  #of(keyId: string): number {
    return this.#ofKey.get(keyId) ?? 0;
  }

  #add(keyId: string, count: 1 | -1): void {
    this.#all += count;
    this.#metrics.sockets(this.#all);
    const ofKey = this.#of(keyId) + count;
    if (ofKey === 0) this.#ofKey.delete(keyId);
    else this.#ofKey.set(keyId, ofKey);
  }
}

function full(who: string, limit: number): ProtocolError {
  const message = `${who} has ${limit} WebSockets open, as many as it may`;
  return new ProtocolError("SOCKETS_AT_CAPACITY", message, { limit });
}
