import type { Duplex } from "node:stream";
import { CLOSE_CODES, type ProtocolError } from "@gas-waiver/protocol";
import { WebSocket } from "ws";
import type { Grant } from "../../keys/cachedKey.js";
import { type Caller, partyOf } from "../../model/keys/caller.js";
import type { MemoryReservation } from "../../model/memoryReservation.js";
import type { Defaulted, ResolvedOptions } from "../../model/options/options.js";
import { PRICES } from "../../model/prices.js";
import type { LoopQueue } from "../../util/loopQueue.js";
import { onAbort } from "../../util/onAbort.js";
import { partOfBody } from "../limits/requestTurns.js";
import type { FrameGuard } from "./frameGuard.js";

export interface ConnectionDependencies {
  readonly loop: LoopQueue;
  readonly options: Pick<ResolvedOptions, Defaulted | "allowedHosts">;
}

/** An accepted WebSocket, with the grant of its key and the guard of its bytes. */
export interface AcceptedSocket {
  readonly socket: WebSocket;
  /** The connection under the WebSocket. */
  readonly raw: Duplex;
  readonly grant: Grant;
  readonly guard: FrameGuard;
}

/** The service stops reading a client's frames while more bytes than this wait for the client to read them. */
export const MAX_UNREAD_BYTES = 65_536;
/** A client whose key stopped being valid has this long to close. */
const CLOSE_TIMEOUT_MS = 500;

/**
 * One WebSocket, whatever its frames say. A frame waits for the turn of its key among the requests of all parties, and
 * then is answered beside those before it. The connection stops reading frames while bytes wait for the client, or frames
 * for their turn or for the store.
 */
export abstract class SocketConnection {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  readonly guard: FrameGuard;
  readonly #grant: Grant;
  readonly #socket: WebSocket;
  readonly #corkForTurn: () => void;
  readonly #dependencies: ConnectionDependencies;
  readonly #responses = new Set<Promise<void>>();
  /** Callbacks for the end of the connection, one for each frame that waits for its turn. */
  readonly #waiting = new Set<() => void>();
  /** Bytes of frames of which nothing is in the store yet. */
  #unstoredBytes = 0;
  /** True if a message, ping or pong has arrived, or sent bytes have left, since the service's last ping. */
  #isAlive = true;

  constructor({ socket, raw, grant, guard }: AcceptedSocket, dependencies: ConnectionDependencies) {
    this.guard = guard;
    this.#socket = socket;
    this.#corkForTurn = createTurnCork(raw);
    this.#grant = grant;
    this.#dependencies = dependencies;
    const ignoreKey = onAbort(grant.signal, () => this.#closeForKey());
    this.#listen();
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        ignoreKey();
        for (const end of this.#waiting) end();
        this.#waiting.clear();
        this.endStreams();
        resolve();
      });
    });
  }

  /**
   * Answers one frame as the protocol says, also a refused frame. Never rejects.
   * @param memory of the frame, to be released once, when nothing of the frame's bytes is needed any more, or when they are in the store.
   */
  protected abstract respond(data: Buffer, isBinary: boolean, memory: MemoryReservation): Promise<void>;

  /**
   * Ends the subscriptions and other unasked frames. Called when the connection is closed, and before it closes because its
   * key ended.
   */
  protected abstract endStreams(): void;

  /** The key's limits and rights as they are now. */
  protected get caller(): Caller {
    return this.#grant.caller;
  }

  /** Whether the client waits for nothing. */
  get isIdle(): boolean {
    return this.#responses.size === 0 && this.#waiting.size === 0;
  }

  protected get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Counts a refused frame for the key's turns. */
  protected chargeRefusal(): void {
    this.#dependencies.loop.refuse(partyOf(this.caller));
  }

  #listen(): void {
    const socket = this.#socket;
    this.guard.onTurn = (price) => {
      this.#enterTurns(price, "", { onTurn: () => {}, onClosed: () => {} });
      this.#applyBackpressure();
    };
    // The library emits a message as one Buffer by default.
    socket.on("message", (data, isBinary) => this.#onMessage(data as Buffer, isBinary));
    socket.on("pong", () => {
      this.#isAlive = true;
    });
    socket.on("ping", (data) => {
      this.#isAlive = true;
      // A client that pings and does not read gets no pongs.
      if (socket.bufferedAmount <= MAX_UNREAD_BYTES) socket.pong(data, false, () => {});
    });
    // The library has closed the connection already: 1009 for a message that is too large, 1007 for bad UTF-8.
    socket.on("error", () => {});
  }

  /** Pings the client. Drops a client that has shown no sign of life since the last ping. */
  ping(): void {
    // While the service does not read the connection, it cannot receive a pong.
    if (!this.#isAlive && !this.#hasUnstoredBacklog() && this.#waiting.size === 0) {
      this.#socket.terminate();
      return;
    }
    this.#isAlive = false;
    this.guard.resetControlFrames();
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping(undefined, undefined, () => {});
  }

  /** Resolves when the responses in flight are sent. */
  async drained(): Promise<void> {
    await Promise.all(this.#responses);
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Closes because the key is no longer valid. Accepted submissions go on, without lines (D19, D25). */
  #closeForKey(): void {
    this.endStreams();
    const { message } = this.#grant.signal.reason as ProtocolError;
    this.#socket.close(CLOSE_CODES.policyViolation, message);
    // For clients that do not answer the close, or do not read.
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    const reservation = this.guard.completeMessage();
    // Frames may still arrive from a client that is being disconnected.
    if (this.#socket.readyState !== WebSocket.OPEN) {
      reservation.release();
      return;
    }
    const { maxBodyBytes } = this.#grant.caller.limits;
    if (maxBodyBytes !== undefined && data.length > maxBodyBytes) {
      this.#socket.close(CLOSE_CODES.messageTooBig, "the frame is larger than this key may send");
      reservation.release();
      return;
    }
    this.#isAlive = true;
    this.#unstoredBytes += data.length;
    const onStored = () => {
      this.#unstoredBytes -= data.length;
      reservation.release();
      this.#applyBackpressure();
    };
    this.#enterTurns(PRICES.request, partOfBody(data.length), {
      onTurn: () => {
        const memory = { grow: reservation.grow, release: onStored };
        const response = this.respond(data, isBinary, memory);
        this.#responses.add(response);
        void response.finally(() => this.#responses.delete(response));
      },
      onClosed: onStored,
    });
    this.#applyBackpressure();
  }

  /** Waits for the key's turn among the requests of all parties. */
  #enterTurns(
    price: number,
    part: string,
    { onTurn, onClosed }: Record<"onTurn" | "onClosed", () => void>,
  ): void {
    let leave = () => {};
    const onEnd = () => {
      leave();
      onClosed();
    };
    this.#waiting.add(onEnd);
    const begin = () => {
      this.#waiting.delete(onEnd);
      onTurn();
      this.#applyBackpressure();
    };
    const { loop } = this.#dependencies;
    leave = loop.enter(partyOf(this.#grant.caller), price, begin, part);
  }

  /** Resolves when there is room for the next bytes. Rejects if the connection is gone. */
  protected send(text: string): Promise<void> {
    this.#dependencies.loop.charge(partyOf(this.caller), text.length * PRICES.sentByte);
    return new Promise((resolve, reject) => {
      this.#corkForTurn();
      this.#socket.send(text, (error) => {
        if (error) return reject(error);
        this.#isAlive = true;
        this.#applyBackpressure();
        resolve();
      });
      this.#applyBackpressure();
      const { readyState, bufferedAmount } = this.#socket;
      if (readyState === WebSocket.OPEN && bufferedAmount <= MAX_UNREAD_BYTES) resolve();
    });
  }

  /** Stops or resumes the reading of frames. */
  #applyBackpressure(): void {
    const mustPause =
      this.guard.hasClosed ||
      this.#waiting.size > 0 ||
      this.#hasUnstoredBacklog() ||
      this.#socket.bufferedAmount > MAX_UNREAD_BYTES;
    if (mustPause === this.#socket.isPaused) return;
    if (mustPause) this.#socket.pause();
    else this.#socket.resume();
  }

  #hasUnstoredBacklog(): boolean {
    return this.#unstoredBytes > this.#dependencies.options.maxBodyBytes;
  }
}

/**
 * Makes a function to call before each write. All that is written in one turn of the event loop then leaves in one packet:
 * an answer of a node brings the lines of many requests, and each packet wakes the client.
 */
function createTurnCork(connection: Duplex): () => void {
  let isCorked = false;
  const uncork = () => {
    isCorked = false;
    connection.uncork();
  };
  return () => {
    if (isCorked) return;
    isCorked = true;
    connection.cork();
    setImmediate(uncork);
  };
}
