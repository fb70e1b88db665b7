import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { CLOSE_CODES, ProtocolError } from "@gas-waiver/protocol";
import type { WebSocket } from "ws";
import type { MemoryReservation } from "../../model/memoryReservation.js";
import type { BodyMemoryBudget, BudgetOwner } from "../limits/bodyMemoryBudget.js";
import { receiveInPieces } from "../limits/pieces.js";
import { createReadMeter } from "../limits/readingTurns.js";
import { FrameCounter } from "./frameCounter.js";

export interface FrameGuardOptions {
  readonly bodyMemory: BodyMemoryBudget;
  readonly owner: BudgetOwner;
  /** The longest time that a message may take to arrive. */
  readonly bodyTimeoutMs: number;
}

/** Pings and pongs of a client between two pings of the service. A well-behaved client sends a few. */
export const MAX_CONTROL_FRAMES = 1_000;
/** The frames of one message, empty ones and control frames included. One packet may hold thousands of messages. */
export const MAX_FRAMES = 16_384;
/** The bytes that are read at once where frames may begin: some 40 of the smallest, of which each takes memory until its turn. */
const PIECE_BYTES = 256;
/** The memory that a chunk of a message takes, however small it is. */
const MIN_CHUNK_BYTES = 256;
/** The memory of a whole message with all that waits for its turn. */
const MIN_MESSAGE_BYTES = 4_096;
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
  /** The memory of what waits to be read, and of the unfinished message. */
  readonly #unread: MemoryReservation;
  #reservation: MemoryReservation;
  /** The memory of the whole messages that the library has not emitted yet. One packet may end several. */
  readonly #whole: MemoryReservation[] = [];
  /** The time of the unfinished message's first byte; undefined if there is none. */
  #startedAt: number | undefined;
  #controlFrames = 0;
  readonly #frameCounter = new FrameCounter();
  readonly #meter: ReturnType<typeof createReadMeter>;
  /** Called where further bytes have to wait for a turn of this price. */
  onTurn: (price: number) => void = () => {};
  #frames = 0;
  #hasClosed = false;

  constructor(raw: Duplex, socket: WebSocket, options: FrameGuardOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#unread = this.#openReservation();
    this.#reservation = this.#openReservation();
    this.#meter = createReadMeter(() => (raw as Socket).bytesRead);
    const bodyBytes = () => this.#frameCounter.missingBytes - raw.readableLength;
    let waiting = 0;
    const onRest = (bytes: number) => {
      this.#holdOrClose(() => this.#unread.grow(bytes - waiting));
      waiting = bytes;
    };
    receiveInPieces(raw, { pieceOf: () => PIECE_BYTES, bodyBytes, onRest });
    // Runs before the library's listener, which emits the messages in the chunk.
    raw.prependListener("data", (chunk: Buffer) => this.#onChunk(chunk));
    const onControlFrame = () => this.#onControlFrame();
    socket.on("ping", onControlFrame);
    socket.on("pong", onControlFrame);
    socket.once("close", () => {
      for (const reservation of [this.#unread, this.#reservation, ...this.#whole]) reservation.release();
    });
  }

  /** Whether the guard has closed the connection, which nobody may read any more: its bytes would count nowhere. */
  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  /** Takes the memory of the message that the library emits now, for the caller to release. */
  completeMessage(): MemoryReservation {
    return this.#whole.shift() ?? this.#openReservation();
  }

  /** Closes the connection if the unfinished message takes too long. */
  closeIfSlow(now: number): void {
    if (this.#startedAt === undefined || now - this.#startedAt <= this.#options.bodyTimeoutMs) return;
    const seconds = this.#options.bodyTimeoutMs / 1_000;
    this.#close(CLOSE_CODES.policyViolation, `a frame did not arrive within ${seconds} seconds`);
  }

  /** Starts a new count of the client's pings and pongs. To be called with each ping of the service. */
  resetControlFrames(): void {
    this.#controlFrames = 0;
  }

  #openReservation(): MemoryReservation {
    return this.#options.bodyMemory.openReservation(this.#options.owner, () => this.#socket.terminate());
  }

  #onChunk(chunk: Buffer): void {
    const price = this.#meter(chunk.length);
    if (price > 0) this.onTurn(price);
    const { messages, rest, frames } = this.#frameCounter.count(chunk);
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#holdOrClose(() => {
      for (const bytes of messages) this.#endMessage(bytes);
      this.#countRest(rest, frames);
    });
  }

  #holdOrClose(hold: () => void): void {
    try {
      hold();
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#close(CLOSE_CODES.tryAgainLater, error.message);
    }
  }

  #endMessage(bytes: number): void {
    this.#reservation.grow(Math.max(bytes, MIN_MESSAGE_BYTES));
    this.#whole.push(this.#reservation);
    this.#reservation = this.#openReservation();
    this.#startedAt = undefined;
    this.#frames = 0;
  }

  /** Counts the beginning of the next message, which may come in the same packet as the end of the one before. */
  #countRest(bytes: number, frames: number): void {
    if (this.#frameCounter.isBetweenMessages) {
      this.#reservation.release();
      this.#reservation = this.#openReservation();
      this.#startedAt = undefined;
      this.#frames = 0;
      return;
    }
    this.#startedAt ??= performance.now();
    this.#frames += frames;
    if (this.#frames > MAX_FRAMES) {
      this.#close(CLOSE_CODES.policyViolation, "the frame comes in too many pieces");
      return;
    }
    this.#reservation.grow(Math.max(bytes, MIN_CHUNK_BYTES));
  }

  #onControlFrame(): void {
    if (++this.#controlFrames > MAX_CONTROL_FRAMES)
      this.#close(CLOSE_CODES.policyViolation, "the client floods the service with pings");
  }

  /** Closes, and stops reading. The library keeps the bytes that came until the connection is gone. */
  #close(code: number, reason: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#hasClosed = true;
    this.#socket.close(code, reason);
    this.#socket.pause();
    setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }
}
