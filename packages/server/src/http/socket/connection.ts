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
import type { RateLimiter } from "../limits/rateLimiter.js";
import type { FrameGuard } from "./frameGuard.js";

export interface SocketDependencies {
  readonly intake: Intake;
  readonly limiter: RateLimiter;
  readonly options: Pick<ResolvedOptions, "maxBodyBytes" | "maxSocketRequests">;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Answers that may wait for a client that does not read, in bytes, before no more of its frames are read. */
export const MAX_UNREAD_BYTES = 65_536;
/** How long a client that is sent away has to say goodbye. */
const GOODBYE_MS = 500;

/**
 * One WebSocket (D23). Each request has a loop of its own that pulls a line, sends it, and pulls the next when the
 * bytes have left: a client that does not read has one line a request in memory, and lines that nobody pulls cost
 * nothing. Frames are not read any further while answers, or requests that are not in the store yet, pile up.
 */
export class SocketConnection {
  readonly #grant: Grant;
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>;
  readonly guard: FrameGuard;
  readonly #socket: WebSocket;
  readonly #dependencies: SocketDependencies;
  readonly #underWay = new Set<RequestId>();
  readonly #serving = new Set<Promise<void>>();
  readonly #streams = new Set<AsyncIterator<ResultLine>>();
  /** Bytes of frames that are not in the store yet. */
  #entering = 0;
  /** Has anything moved since the last ping? */
  #alive = true;

  constructor(socket: WebSocket, grant: Grant, guard: FrameGuard, dependencies: SocketDependencies) {
    this.guard = guard;
    this.#socket = socket;
    this.#grant = grant;
    this.#dependencies = dependencies;
    const end = () => this.#end();
    grant.signal.addEventListener("abort", end);
    // Messages come as one Buffer, the library's default.
    socket.on("message", (data, isBinary) => this.#receive(data as Buffer, isBinary));
    socket.on("pong", () => {
      this.#alive = true;
    });
    socket.on("ping", (data) => {
      this.#alive = true;
      // A client that asks and does not read is not answered either.
      if (socket.bufferedAmount <= MAX_UNREAD_BYTES) socket.pong(data, false, () => {});
    });
    // The library has closed the connection by itself: 1009 for a frame too large, 1007 for bad UTF-8.
    socket.on("error", () => {});
    // A client that goes away ends the listening, and cancels nothing (D19).
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        grant.signal.removeEventListener("abort", end);
        for (const stream of this.#streams) void stream.return?.();
        resolve();
      });
    });
  }

  /** Drops a peer that gave no sign since the last call, and asks for the next. */
  ping(): void {
    // What is not read on purpose says nothing of the peer.
    if (!this.#alive && !this.#holdsBack()) {
      this.#socket.terminate();
      return;
    }
    this.#alive = false;
    this.guard.resetControlFrames();
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping(undefined, undefined, () => {});
  }

  /** Resolves when the answers under way are out. */
  async drained(): Promise<void> {
    await Promise.all(this.#serving);
  }

  close(code: number, why: string): void {
    this.#socket.close(code, why);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** The key is no longer good: what was accepted goes on, and nobody is told of it here (D19, D25). */
  #end(): void {
    for (const stream of this.#streams) void stream.return?.();
    const { message } = this.#grant.signal.reason as ProtocolError;
    this.#socket.close(CLOSE_CODES.policyViolation, message);
    // Also one that does not say goodbye, or does not read.
    setTimeout(() => this.#socket.terminate(), GOODBYE_MS).unref();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const held = this.guard.completeFrame();
    // Frames may still come from a client that is being sent away.
    if (this.#socket.readyState !== WebSocket.OPEN) {
      held.release();
      return;
    }
    const { maxBodyBytes } = this.#grant.caller.limits;
    if (maxBodyBytes !== undefined && data.length > maxBodyBytes) {
      this.#socket.close(CLOSE_CODES.messageTooBig, "the frame is larger than this key may send");
      held.release();
      return;
    }
    this.#alive = true;
    this.#entering += data.length;
    const entered = () => {
      this.#entering -= data.length;
      held.release();
      this.#breathe();
    };
    const serving = this.#serve(isBinary ? binary() : readClientFrame(data.toString()), entered);
    this.#serving.add(serving);
    void serving.finally(() => this.#serving.delete(serving));
    this.#breathe();
  }

  /** Answers one frame, with lines or an error. Never rejects. */
  async #serve(received: ReceivedFrame, entered: () => void): Promise<void> {
    let request = received.request;
    let stream: AsyncIterator<ResultLine> | undefined;
    try {
      // Named to both, an answer could not be told from the other's.
      if (request !== null && this.#underWay.has(request)) {
        const name = request;
        request = null;
        entered();
        throw inUse(name);
      }
      const lines = await this.#admit(received, entered);
      if (request === null) return;
      stream = lines[Symbol.asyncIterator]();
      this.#streams.add(stream);
      for (let next = await stream.next(); !next.done; next = await stream.next()) {
        await this.#send(encodeLineFrame(request, next.value));
      }
      // Before it is told: the client may use the id again at once.
      this.#underWay.delete(request);
      await this.#send(encodeDoneFrame(request));
    } catch (error) {
      if (request !== null) this.#underWay.delete(request);
      await this.#refuse(request, error);
    } finally {
      if (stream) {
        this.#streams.delete(stream);
        await stream.return?.();
      }
    }
  }

  /** Takes a request whole, or throws why not. */
  async #admit({ request, parse }: ReceivedFrame, entered: () => void): Promise<AsyncIterable<ResultLine>> {
    const { options } = this.#dependencies;
    try {
      const frame = parse(this.#grant.caller.limits.maxBatchSize);
      if (this.#underWay.size >= options.maxSocketRequests) throw full(options.maxSocketRequests);
      if (request !== null) this.#underWay.add(request);
      return await this.#start(frame);
    } finally {
      entered();
    }
  }

  async #start(frame: ClientFrame): Promise<AsyncIterable<ResultLine>> {
    const { intake, limiter } = this.#dependencies;
    const { wait = "broadcast" } = frame;
    const { caller } = this.#grant;
    if ("watch" in frame) return intake.watch(caller, frame.watch, wait);
    const { transactions } = frame;
    const taken = await limiter.take(caller, transactions.length);
    return await intake.submit(caller, transactions, wait).catch((error: unknown) => {
      taken.refund();
      throw error;
    });
  }

  async #refuse(request: RequestId | null, error: unknown): Promise<void> {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const { log, metrics } = this.#dependencies;
    const refusal = error instanceof ProtocolError ? error : failed();
    if (refusal !== error) log.error({ err: error }, "a request over a WebSocket failed");
    metrics.refused(refusal.reason);
    await this.#send(encodeErrorFrame(request, refusal)).catch(() => {});
  }

  /** Resolves when the bytes have left; rejects if the connection is gone. */
  #send(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.send(text, (error) => {
        if (error) return reject(error);
        this.#alive = true;
        this.#breathe();
        resolve();
      });
      this.#breathe();
    });
  }

  /** Reads on, or does not for now. */
  #breathe(): void {
    const wait = this.#holdsBack() || this.#socket.bufferedAmount > MAX_UNREAD_BYTES;
    if (wait === this.#socket.isPaused) return;
    if (wait) this.#socket.pause();
    else this.#socket.resume();
  }

  #holdsBack(): boolean {
    return this.#entering > this.#dependencies.options.maxBodyBytes;
  }
}

function binary(): ReceivedFrame {
  return {
    request: null,
    parse() {
      throw new ProtocolError("MALFORMED_BODY", "the frame is binary; frames are JSON as text");
    },
  };
}

function inUse(request: RequestId): ProtocolError {
  const message = `a request with the id ${JSON.stringify(request)} is under way on this connection`;
  return new ProtocolError("DUPLICATE_REQUEST_ID", message);
}

function full(limit: number): ProtocolError {
  const message = `this connection has ${limit} requests under way, as many as it may`;
  return new ProtocolError("CONNECTION_FULL", message, { limit });
}

function failed(): ProtocolError {
  return new ProtocolError("INTERNAL_ERROR", "the service failed to answer; the failure was logged");
}
