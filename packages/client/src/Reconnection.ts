import { ROUTES } from "@gas-waiver/protocol/wire";
import type { Connection } from "./Connection.js";
import { RequestRefusedError } from "./WaiverClientError.js";

/** The longest pause between two attempts. */
const LONGEST_MS = 5_000;
/** How long the question may take why there is no WebSocket. */
const QUESTION_MS = 5_000;
/** So often a service may say that it got no WebSocket handshake, before it is believed. */
const PATIENCE = 3;

export interface ReconnectionOptions {
  readonly connection: Connection;
  readonly giveUpAfterMs: number;
  readonly reconnectAfterMs: number;
}

export type Next = { readonly again: true } | { readonly again: false; readonly cause: unknown };

/** When to connect again, and when not to. */
export class Reconnection {
  readonly #options: ReconnectionOptions;
  #failures = 0;
  #withoutUpgrade = 0;
  #downSince: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #generation = 0;

  constructor(options: ReconnectionOptions) {
    this.#options = options;
  }

  /** It works again. */
  succeed(): void {
    this.stop();
    this.#failures = 0;
    this.#withoutUpgrade = 0;
    this.#downSince = undefined;
  }

  stop(): void {
    this.#generation++;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Resolves when it is time to connect again, or to give up; with nothing if neither matters any more. */
  async fail(wasOpen: boolean): Promise<Next | undefined> {
    this.stop();
    const generation = this.#generation;
    const { giveUpAfterMs, reconnectAfterMs } = this.#options;
    this.#downSince ??= performance.now();
    const cause = wasOpen ? undefined : await this.#ask();
    if (generation !== this.#generation) return undefined;
    const isFinal = cause instanceof RequestRefusedError && this.#isFinal(cause);
    if (isFinal || performance.now() - this.#downSince >= giveUpAfterMs) {
      this.succeed();
      return { again: false, cause };
    }
    const pauseMs = Math.min(LONGEST_MS, reconnectAfterMs * 2 ** this.#failures++);
    // Those that lost the same service do not come back in the same moment.
    return await new Promise((resolve) => {
      this.#timer = setTimeout(() => resolve({ again: true }), pauseMs * (0.5 + Math.random() / 2));
    });
  }

  /** A WebSocket does not say why it was refused; the same request without the upgrade does. */
  async #ask(): Promise<unknown> {
    try {
      const signal = AbortSignal.timeout(QUESTION_MS);
      const response = await this.#options.connection.request(ROUTES.socket, { signal });
      await response.body?.cancel();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** The key is not good, or there is no such path, or something in between does not let upgrades pass. */
  #isFinal({ status }: RequestRefusedError): boolean {
    if (status === 426) return ++this.#withoutUpgrade >= PATIENCE;
    return status >= 400 && status < 500 && status !== 408 && status !== 429;
  }
}
