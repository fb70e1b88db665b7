import type { Duplex } from "node:stream";
import {
  CLOSE_CODES,
  type ClientFrame,
  encodeDoneFrame,
  encodeErrorFrame,
  encodeLineFrame,
  ProtocolError,
  type ReceivedFrame,
  type RequestId,
  type ResultLine,
  readClientFrame,
} from "@gas-waiver/protocol";
import { WebSocket } from "ws";
import type { Intake } from "../../intake/intake.js";
import type { Grant } from "../../keys/cachedKey.js";
import type { Logger } from "../../model/log.js";
import type { Metrics } from "../../model/metrics.js";
import type { ResolvedOptions } from "../../model/options.js";
import { onAbort } from "../../util/onAbort.js";
import { partyOfKey } from "../authenticator.js";
import { internalError } from "../errors.js";
import type { PartyTurns } from "../limits/partyTurns.js";
import type { RateLimiter } from "../limits/rateLimiter.js";
import type { ReadLimiter } from "../limits/readLimiter.js";
import type { FrameGuard } from "./frameGuard.js";
import { createTurnCork } from "./turnCork.js";

export interface SocketDependencies {
  readonly intake: Intake;
  readonly rateLimiter: RateLimiter;
  readonly readLimiter: ReadLimiter;
  readonly parties: PartyTurns;
  readonly options: Pick<ResolvedOptions, "maxBodyBytes" | "maxSocketRequests">;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The service stops reading a client's frames while more bytes than this wait for the client to read them. */
export const MAX_UNREAD_BYTES = 65_536;
/** A client whose key stopped being valid has this long to close. */
const CLOSE_TIMEOUT_MS = 500;

/**
 * One WebSocket (D23). Each request runs a loop that pulls a line, sends it, and pulls the next one. While more than
 * {@link MAX_UNREAD_BYTES} wait for the client, it pulls the next one only when the bytes of its own have left. A client that
 * does not read therefore holds these bytes and one line for each request in memory, and lines that nobody pulls cost
 * nothing. The connection stops reading frames while lines wait for the client, or requests for the store.
 */
export class SocketConnection {
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  readonly guard: FrameGuard;
  readonly #grant: Grant;
  readonly #socket: WebSocket;
  readonly #corkForTurn: () => void;
  readonly #dependencies: SocketDependencies;
  /** The requests by their ids; null is the one without an id. */
  readonly #inFlight = new Set<RequestId | null>();
  readonly #responses = new Set<Promise<void>>();
  readonly #streams = new Set<AsyncIterator<ResultLine>>();
  /** Callbacks for the end of the connection, one for each frame that waits for its turn. */
  readonly #waiting = new Set<() => void>();
  /** Bytes of frames of which nothing is in the store yet. */
  #unstoredBytes = 0;
  /** True if a message, ping or pong has arrived, or sent bytes have left, since the service's last ping. */
  #isAlive = true;

  /** @param raw the connection under the WebSocket. */
  constructor(
    socket: WebSocket,
    raw: Duplex,
    { grant, guard }: { readonly grant: Grant; readonly guard: FrameGuard },
    dependencies: SocketDependencies,
  ) {
    this.guard = guard;
    this.#socket = socket;
    this.#corkForTurn = createTurnCork(raw);
    this.#grant = grant;
    this.#dependencies = dependencies;
    const ignoreKey = onAbort(grant.signal, () => this.#closeForKey());
    this.#listen();
    // A client that leaves ends the streams of its lines, and cancels no submission (D19).
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        ignoreKey();
        for (const end of this.#waiting) end();
        this.#waiting.clear();
        this.#endStreams();
        resolve();
      });
    });
  }

  #listen(): void {
    const socket = this.#socket;
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
    this.#endStreams();
    const { message } = this.#grant.signal.reason as ProtocolError;
    this.#socket.close(CLOSE_CODES.policyViolation, message);
    // For clients that do not answer the close, or do not read.
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }

  #endStreams(): void {
    for (const stream of this.#streams) void stream.return?.();
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
    this.#enterTurns({
      onTurn: () => {
        const received = isBinary ? binaryFrame() : readClientFrame(data.toString());
        const response = this.#respond(received, onStored);
        this.#responses.add(response);
        void response.finally(() => this.#responses.delete(response));
      },
      onClosed: onStored,
    });
    this.#applyBackpressure();
  }

  /** Waits for the key's turn among the requests of all parties. */
  #enterTurns({ onTurn, onClosed }: { readonly onTurn: () => void; readonly onClosed: () => void }): void {
    let leave = () => {};
    const onEnd = () => {
      leave();
      onClosed();
    };
    this.#waiting.add(onEnd);
    leave = this.#dependencies.parties.enter(partyOfKey(this.#grant.caller), () => {
      this.#waiting.delete(onEnd);
      onTurn();
      this.#applyBackpressure();
    });
  }

  /**
   * Answers one frame, with lines or an error. Never rejects.
   * @param onStored called once, when the first of the frame's transactions are in the store, or none will be.
   */
  async #respond(received: ReceivedFrame, onStored: () => void): Promise<void> {
    const { request } = received;
    let isInFlight = false;
    let stream: AsyncIterator<ResultLine> | undefined;
    try {
      const lines = await this.#admit(received, onStored);
      isInFlight = true;
      stream = lines[Symbol.asyncIterator]();
      this.#streams.add(stream);
      for (let next = await stream.next(); !next.done; next = await stream.next()) {
        await this.#send(encodeLineFrame(request, next.value));
      }
      // Before the done frame, because the client may use the id again at once.
      isInFlight = !this.#inFlight.delete(request);
      await this.#send(encodeDoneFrame(request));
    } catch (error) {
      if (isInFlight) this.#inFlight.delete(request);
      await this.#refuse(request, error);
    } finally {
      if (stream) {
        this.#streams.delete(stream);
        await stream.return?.();
      }
    }
  }

  /** Accepts a request as a whole, which is in flight from then on. @throws {@link ProtocolError} to refuse it. */
  async #admit({ request, parse }: ReceivedFrame, onStored: () => void): Promise<AsyncIterable<ResultLine>> {
    const { maxSocketRequests } = this.#dependencies.options;
    try {
      if (request !== null && this.#inFlight.has(request)) throw duplicateId(request);
      const frame = parse(this.#grant.caller.limits.maxBatchSize);
      // D23: one request without an id at a time. A frame that cannot be read has no id either.
      if (this.#inFlight.has(request)) throw duplicateId(request);
      if (this.#inFlight.size >= maxSocketRequests) throw connectionFull(maxSocketRequests);
      this.#inFlight.add(request);
      return await this.#start(frame).catch((error: unknown) => {
        this.#inFlight.delete(request);
        throw error;
      });
    } finally {
      onStored();
    }
  }

  async #start(frame: ClientFrame): Promise<AsyncIterable<ResultLine>> {
    const { intake, rateLimiter, readLimiter } = this.#dependencies;
    const { wait = "broadcast" } = frame;
    const { caller } = this.#grant;
    if ("watch" in frame) {
      const { watch } = frame;
      return await readLimiter.read(caller, watch.length, () => intake.watch(caller, watch, wait));
    }
    const { transactions } = frame;
    const tokens = await rateLimiter.take(caller, transactions.length);
    return await intake.submit(caller, transactions, wait, { refund: tokens.refund });
  }

  async #refuse(request: RequestId | null, error: unknown): Promise<void> {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const { log, metrics, parties } = this.#dependencies;
    const refusal = error instanceof ProtocolError ? error : internalError();
    if (refusal !== error) log.error({ err: error }, "a request over a WebSocket failed");
    metrics.refused(refusal.reason);
    parties.charge(partyOfKey(this.#grant.caller));
    // With the id of a request in flight, the error would look like the answer to that request.
    const answeredId = refusal.reason === "DUPLICATE_REQUEST_ID" ? null : request;
    await this.#send(encodeErrorFrame(answeredId, refusal)).catch(() => {});
  }

  /** Resolves when there is room for the next bytes. Rejects if the connection is gone. */
  #send(text: string): Promise<void> {
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
      this.#waiting.size > 0 || this.#hasUnstoredBacklog() || this.#socket.bufferedAmount > MAX_UNREAD_BYTES;
    if (mustPause === this.#socket.isPaused) return;
    if (mustPause) this.#socket.pause();
    else this.#socket.resume();
  }

  #hasUnstoredBacklog(): boolean {
    return this.#unstoredBytes > this.#dependencies.options.maxBodyBytes;
  }
}

function binaryFrame(): ReceivedFrame {
  return {
    request: null,
    parse() {
      throw new ProtocolError("MALFORMED_BODY", "the frame is binary; frames are JSON as text");
    },
  };
}

function duplicateId(request: RequestId | null): ProtocolError {
  const qualifier = request === null ? "without an id" : `with the id ${JSON.stringify(request)}`;
  const message = `a request ${qualifier} is in flight on this connection`;
  return new ProtocolError("DUPLICATE_REQUEST_ID", message);
}

function connectionFull(limit: number): ProtocolError {
  const message = `this connection has ${limit} requests in flight, as many as it may`;
  return new ProtocolError("CONNECTION_FULL", message, { capacity: limit });
}
