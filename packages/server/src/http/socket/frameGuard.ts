import type { Duplex } from "node:stream";
import { CLOSE_CODES, ProtocolError } from "@gas-waiver/protocol";
import type { WebSocket } from "ws";
import type { BodyMemoryBudget, BudgetOwner, MemoryReservation } from "../limits/bodyMemoryBudget.js";
import { FrameCounter } from "./frameCounter.js";

export interface FrameGuardOptions {
  readonly bodyMemory: BodyMemoryBudget;
  readonly owner: BudgetOwner;
  /** The longest time that a message may take to arrive. */
  readonly bodyTimeoutMs: number;
}

/** Pings and pongs of a client between two pings of the service. A well-behaved client sends a few. */
export const MAX_CONTROL_FRAMES = 1_000;
/** Frames, empty ones too, without a whole message among them. One packet may hold thousands of messages. */
export const MAX_FRAMES = 16_384;
/** The memory that a chunk takes, however small it is. */
const MIN_CHUNK_BYTES = 256;
/** The header of a ping or pong as clients send it. */
const CONTROL_HEADER_BYTES = 6;
/** A client that is disconnected has this long to close. */
const CLOSE_TIMEOUT_MS = 500;

/**
 * Watches the bytes of one WebSocket before they make a whole message. The `ws` library only bounds each message by
 * itself. The guard counts a message against the memory budget from its first byte, closes the connection when the
 * message takes too long, and when the client floods the service with pings.
 */
export class FrameGuard {
  readonly #socket: WebSocket;
  readonly #options: FrameGuardOptions;
  #reservation: MemoryReservation;
  /** Bytes of the unfinished message, as they came. */
  #arrivedBytes = 0;
  /** The time of the unfinished message's first byte. */
  #startedAt = 0;
  #controlFrames = 0;
  readonly #frameCounter = new FrameCounter();
  #frames = 0;

  constructor(raw: Duplex, socket: WebSocket, options: FrameGuardOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#reservation = options.bodyMemory.openReservation(options.owner);
    // Runs before the library's listener, which emits the messages in the chunk.
    raw.prependListener("data", (chunk: Buffer) => this.#onChunk(chunk));
    const onControlFrame = (data: Buffer) => this.#onControlFrame(data.length);
    socket.on("ping", onControlFrame);
    socket.on("pong", onControlFrame);
    socket.once("close", () => this.#reservation.release());
  }

  /** Starts the next message. @returns the memory of the one that is whole now, for the caller to release. */
  completeMessage(): MemoryReservation {
    const reservation = this.#reservation;
    this.#reservation = this.#options.bodyMemory.openReservation(this.#options.owner);
    this.#arrivedBytes = 0;
    this.#frames = 0;
    return reservation;
  }

  /** Closes the connection if the unfinished message takes too long. */
  closeIfSlow(now: number): void {
    if (this.#arrivedBytes > 0 && now - this.#startedAt > this.#options.bodyTimeoutMs) {
      const seconds = this.#options.bodyTimeoutMs / 1_000;
      this.#close(CLOSE_CODES.policyViolation, `a frame did not arrive within ${seconds} seconds`);
    }
  }

  /** Starts a new count of the client's pings and pongs. To be called with each ping of the service. */
  resetControlFrames(): void {
    this.#controlFrames = 0;
  }

  #onChunk(chunk: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#arrivedBytes === 0) this.#startedAt = performance.now();
    this.#arrivedBytes += chunk.length;
    this.#frames += this.#frameCounter.count(chunk);
    if (this.#frames > MAX_FRAMES) {
      this.#close(CLOSE_CODES.policyViolation, "the frame comes in too many pieces");
      return;
    }
    try {
      this.#reservation.grow(Math.max(chunk.length, MIN_CHUNK_BYTES));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#close(CLOSE_CODES.tryAgainLater, error.message);
    }
  }

  #onControlFrame(payloadBytes: number): void {
    this.#arrivedBytes = Math.max(0, this.#arrivedBytes - payloadBytes - CONTROL_HEADER_BYTES);
    if (this.#arrivedBytes === 0) {
      this.#reservation.release();
      this.#frames = 0;
    }
    if (++this.#controlFrames > MAX_CONTROL_FRAMES)
      this.#close(CLOSE_CODES.policyViolation, "the client floods the service with pings");
  }

  /** Closes, and stops reading. The library keeps the bytes that came until the connection is gone. */
  #close(code: number, why: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.close(code, why);
    this.#socket.pause();
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }
}
