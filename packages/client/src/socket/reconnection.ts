import { SOCKET_ROUTE } from "@gas-waiver/protocol/wire";
import { RequestRefusedError } from "../errors.js";
import type { Connection } from "../http/connection.js";

/** The longest pause between two attempts to connect. */
const MAX_PAUSE_MS = 5_000;
/** The time limit of the plain HTTP request that asks why the handshake failed. */
const PROBE_TIMEOUT_MS = 5_000;
/** After so many answers of 426 in a row, something between is taken to strip the upgrade for good. */
const MAX_ANSWERS_WITHOUT_UPGRADE = 3;

export interface ReconnectionOptions {
  readonly connection: Connection;
  readonly giveUpAfterMs: number;
  readonly reconnectAfterMs: number;
}

export type ReconnectDecision = { readonly again: true } | { readonly again: false; readonly cause: unknown };

/** Decides when to connect again, and when to give up. */
export class Reconnection {
  readonly #options: ReconnectionOptions;
  #failures = 0;
  #answersWithoutUpgrade = 0;
  #downSince: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #generation = 0;

  constructor(options: ReconnectionOptions) {
    this.#options = options;
  }

  /** Starts counting anew after a connection was made. */
  reset(): void {
    this.stop();
    this.#failures = 0;
    this.#answersWithoutUpgrade = 0;
    this.#downSince = undefined;
  }

  stop(): void {
    this.#generation++;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Resolves when it is time to connect again or to give up, or with undefined if {@link stop} or {@link reset} came first. */
  async fail(wasOpen: boolean): Promise<ReconnectDecision | undefined> {
    this.stop();
    const generation = this.#generation;
    const { giveUpAfterMs, reconnectAfterMs } = this.#options;
    this.#downSince ??= performance.now();
    const cause = wasOpen ? undefined : await this.#probe();
    if (generation !== this.#generation) return undefined;
    const isPermanent = cause instanceof RequestRefusedError && this.#isPermanent(cause);
    if (isPermanent || performance.now() - this.#downSince >= giveUpAfterMs) {
      this.reset();
      return { again: false, cause };
    }
    const pauseMs = Math.min(MAX_PAUSE_MS, reconnectAfterMs * 2 ** this.#failures++);
    // A random part keeps the clients of one service from coming back all at once.
    return await new Promise((resolve) => {
      this.#timer = setTimeout(() => resolve({ again: true }), pauseMs * (0.5 + Math.random() / 2));
    });
  }

  /** A WebSocket does not tell why its handshake was refused; the same request without the upgrade does. */
  async #probe(): Promise<unknown> {
    try {
      const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
      const response = await this.#options.connection.request(SOCKET_ROUTE, { signal });
      await response.body?.cancel();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Tells whether trying again is useless: a bad key, a wrong path, or a proxy that strips the upgrade. */
  #isPermanent({ status }: RequestRefusedError): boolean {
    if (status === 426) return ++this.#answersWithoutUpgrade >= MAX_ANSWERS_WITHOUT_UPGRADE;
    return status >= 400 && status < 500 && status !== 408 && status !== 429;
  }
}
