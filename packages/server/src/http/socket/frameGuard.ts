import type { Duplex } from "node:stream";
import { CLOSE_CODES, ProtocolError } from "@gas-waiver/protocol";
import type { WebSocket } from "ws";
import type { BodyMemoryBudget, BudgetOwner, MemoryReservation } from "../limits/bodyMemoryBudget.js";
import { FrameCounter } from "./frameCounter.js";

export interface FrameGuardOptions {
  readonly memory: BodyMemoryBudget;
  readonly owner: BudgetOwner;
  /** How long a frame may take to arrive. */
  readonly bodyTimeoutMs: number;
}

/** Pings and pongs of a client between two pings of the service: some times a second is much. */
export const MAX_SIGNS = 1_000;
/** Frames of the protocol without a message among them, empty ones too; one packet may have thousands of messages. */
export const MAX_FRAMES = 16_384;
/** What a piece takes in memory, however small it is. */
const PIECE_BYTES = 256;
/** The head of a ping or pong as clients send it. */
const SIGN_HEAD_BYTES = 6;
/** How long a client that is sent away has to take its leave. */
const GOODBYE_MS = 500;

/**
 * Watches what arrives on one WebSocket before it is a whole frame: the library only bounds each frame by itself. A
 * frame counts from its first byte, and must be there in time; a flood of pings ends the connection.
 */
export class FrameGuard {
  readonly #socket: WebSocket;
  readonly #options: FrameGuardOptions;
  #held: MemoryReservation;
  /** Bytes of the frame under way, as they came. */
  #arrived = 0;
  #since = 0;
  #signs = 0;
  readonly #heads = new FrameCounter();
  #frames = 0;

  constructor(raw: Duplex, socket: WebSocket, options: FrameGuardOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#held = options.memory.openReservation(options.owner);
    // Before the library hears of it, and tells of the frames in it.
    raw.prependListener("data", (piece: Buffer) => this.#hear(piece));
    const sign = (data: Buffer) => this.#sign(data.length);
    socket.on("ping", sign);
    socket.on("pong", sign);
    socket.once("close", () => this.#held.release());
  }

  /** A frame is whole: what it holds is given back by whoever called this. */
  completeFrame(): MemoryReservation {
    const held = this.#held;
    this.#held = this.#options.memory.openReservation(this.#options.owner);
    this.#arrived = 0;
    this.#frames = 0;
    return held;
  }

  /** Ends the connection if a frame takes too long. */
  closeIfSlow(now: number): void {
    if (this.#arrived > 0 && now - this.#since > this.#options.bodyTimeoutMs) {
      const seconds = this.#options.bodyTimeoutMs / 1_000;
      this.#end(CLOSE_CODES.policyViolation, `a frame did not arrive within ${seconds} seconds`);
    }
  }

  /** The service has sent a ping; the client's are counted anew. */
  resetControlFrames(): void {
    this.#signs = 0;
  }

  #hear(piece: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#arrived === 0) this.#since = performance.now();
    this.#arrived += piece.length;
    this.#frames += this.#heads.count(piece);
    if (this.#frames > MAX_FRAMES) {
      this.#end(CLOSE_CODES.policyViolation, "the frame comes in too many pieces");
      return;
    }
    try {
      this.#held.grow(Math.max(piece.length, PIECE_BYTES));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#end(CLOSE_CODES.tryAgainLater, error.message);
    }
  }

  #sign(length: number): void {
    this.#arrived = Math.max(0, this.#arrived - length - SIGN_HEAD_BYTES);
    if (this.#arrived === 0) {
      this.#held.release();
      this.#frames = 0;
    }
    if (++this.#signs > MAX_SIGNS)
      this.#end(CLOSE_CODES.policyViolation, "the client floods the service with pings");
  }

  /** Reads no further: what came is in the library's hands until the connection is gone. */
  #end(code: number, why: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.close(code, why);
    this.#socket.pause();
    setTimeout(() => this.#socket.terminate(), GOODBYE_MS).unref();
  }
}
