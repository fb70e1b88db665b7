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

export type Reconnection = ReturnType<typeof createReconnection>;

/** Decides when to connect again, and when to give up. */
export function createReconnection({ connection, giveUpAfterMs, reconnectAfterMs }: ReconnectionOptions) {
  let failures = 0;
  let answersWithoutUpgrade = 0;
  let downSince: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let generation = 0;
  const stop = () => {
    generation++;
    clearTimeout(timer);
  };
  /** Starts counting anew after a connection was made. */
  const reset = () => {
    stop();
    failures = 0;
    answersWithoutUpgrade = 0;
    downSince = undefined;
  };
  /** Tells whether trying again is useless: a bad key, a wrong path, or a proxy that strips the upgrade. */
  const isPermanent = ({ status }: RequestRefusedError) => {
    if (status === 426) return ++answersWithoutUpgrade >= MAX_ANSWERS_WITHOUT_UPGRADE;
    return status >= 400 && status < 500 && status !== 408 && status !== 429;
  };
  return {
    stop,
    reset,
    /** Resolves when it is time to connect again or to give up, or with undefined if `stop` or `reset` came first. */
    async fail(wasOpen: boolean): Promise<ReconnectDecision | undefined> {
      stop();
      const own = generation;
      downSince ??= performance.now();
      const cause = wasOpen ? undefined : await probe(connection);
      if (own !== generation) return undefined;
      const isOver = performance.now() - downSince >= giveUpAfterMs;
      if ((cause instanceof RequestRefusedError && isPermanent(cause)) || isOver) {
        reset();
        return { again: false, cause };
      }
      const pauseMs = Math.min(MAX_PAUSE_MS, reconnectAfterMs * 2 ** failures++);
      // A random part keeps the clients of one service from coming back all at once.
      return await new Promise((resolve) => {
        timer = setTimeout(() => resolve({ again: true }), pauseMs * (0.5 + Math.random() / 2));
      });
    },
  };
}

/** A WebSocket does not tell why its handshake was refused; the same request without the upgrade does. */
async function probe(connection: Connection): Promise<unknown> {
  try {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    const response = await connection.request(SOCKET_ROUTE, { signal });
    await response.body?.cancel();
    return undefined;
  } catch (error) {
    return error;
  }
}
