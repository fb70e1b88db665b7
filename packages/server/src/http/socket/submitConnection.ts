import {
  type ClientFrame,
  encodeDoneFrame,
  encodeErrorFrame,
  encodeLineFrame,
  MAX_REQUEST_ID_LENGTH,
  ProtocolError,
  type ReceivedFrame,
  readParsedFrame,
} from "@gas-waiver/protocol";
import type { Intake } from "../../intake/intake.js";
import { partyOf } from "../../model/keys/caller.js";
import type { MemoryReservation } from "../../model/memoryReservation.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import type { LineGroup } from "../../results/resultLine.js";
import { ExactNumber, parseJson, type ReserveMemory, type RunSlice } from "../../util/slicedJson.js";
import { slicesOf } from "../body/jsonBody.js";
import { internalError } from "../errors.js";
import type { RateLimiter } from "../limits/rateLimiter.js";
import type { ReadLimiter } from "../limits/readLimiter.js";
import { partOfBody } from "../limits/requestTurns.js";
import { type AcceptedSocket, type ConnectionDependencies, SocketConnection } from "./connection.js";

export interface SubmitDependencies extends ConnectionDependencies {
  readonly intake: Pick<Intake, "submit" | "watch">;
  readonly rateLimiter: RateLimiter;
  readonly readLimiter: ReadLimiter;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * A WebSocket for submissions (D23). Each request runs a loop that pulls lines, sends them, and pulls the next ones. While more
 * than `MAX_UNREAD_BYTES` wait for the client, it goes on only when the bytes of its own line have left. A client
 * that does not read therefore holds these bytes and a group of lines for each request in memory, and lines that nobody pulls
 * cost nothing.
 */
export class SubmitConnection extends SocketConnection {
  readonly #dependencies: SubmitDependencies;
  /** The requests by their ids, as their clients wrote them. */
  readonly #inFlight = new Set<string>();
  readonly #streams = new Set<AsyncIterator<LineGroup>>();

  constructor(accepted: AcceptedSocket, dependencies: SubmitDependencies) {
    super(accepted, dependencies);
    this.#dependencies = dependencies;
  }

  /** A client that leaves ends the streams of its lines, and cancels no submission (D19). */
  protected override endStreams(): void {
    for (const stream of this.#streams) void stream.return?.();
  }

  /**
   * Answers one frame, with lines or an error. Never rejects.
   * @param memory released when the first of the frame's transactions are in the store, or none will be.
   */
  protected override async respond(
    data: Buffer,
    isBinary: boolean,
    memory: MemoryReservation,
  ): Promise<void> {
    const { request, admitted } = await this.#begin(data, isBinary, memory);
    let isInFlight = false;
    let stream: AsyncIterator<LineGroup> | undefined;
    try {
      const lines = await admitted;
      isInFlight = true;
      stream = lines[Symbol.asyncIterator]();
      this.#streams.add(stream);
      for (let next = await stream.next(); !next.done; next = await stream.next()) {
        for (const line of next.value) await this.#send(request, encodeLineFrame(null, line));
      }
      // Before the done frame, because the client may use the id again at once.
      isInFlight = !this.#inFlight.delete(request);
      await this.#send(request, encodeDoneFrame(null));
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

  /** Reads a frame. The values of a frame, whose memory counts until it is admitted, stay with what admits it. */
  async #begin(data: Buffer, isBinary: boolean, memory: MemoryReservation) {
    const run = slicesOf(this.#dependencies.loop, partyOf(this.caller), partOfBody(data.length));
    const received = isBinary ? binaryFrame() : await readFrame(data, run, memory.grow);
    const { request } = received;
    return { request, admitted: this.#admit(received, memory.release) };
  }

  /** Sends a frame under the id as its client wrote it, which JavaScript may have rounded. */
  #send(request: string, frame: string): Promise<void> {
    return this.send(frame.replace(NO_ID, () => request));
  }

  /** Accepts a request as a whole, which is in flight from then on. @throws {@link ProtocolError} to refuse it. */
  async #admit({ request, parse }: NamedFrame, onStored: () => void): Promise<AsyncIterable<LineGroup>> {
    const { maxSocketRequests } = this.#dependencies.options;
    try {
      if (request !== NO_ID && this.#inFlight.has(request)) throw duplicateId(request);
      const frame = parse(this.caller.limits.maxBatchSize);
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

  async #start(frame: ClientFrame): Promise<AsyncIterable<LineGroup>> {
    const { intake, rateLimiter, readLimiter } = this.#dependencies;
    const { wait = "broadcast" } = frame;
    const { caller } = this;
    if ("watch" in frame) {
      const { watch } = frame;
      return await readLimiter.read(caller, watch.length, () => intake.watch(caller, watch, wait));
    }
    const { transactions } = frame;
    const tokens = await rateLimiter.take(caller, transactions.length);
    return await intake.submit(caller, transactions, wait, { refund: tokens.refund });
  }

  async #refuse(request: string, error: unknown): Promise<void> {
    if (!this.isOpen) return;
    const { log, metrics } = this.#dependencies;
    const refusal = error instanceof ProtocolError ? error : internalError();
    if (refusal !== error) log.error({ err: error }, "a request over a WebSocket failed");
    metrics.refused(refusal, this.caller.keyId);
    this.chargeRefusal();
    // With the id of a request in flight, the error would look like the answer to that request.
    const answeredId = refusal.reason === "DUPLICATE_REQUEST_ID" ? NO_ID : request;
    await this.#send(answeredId, encodeErrorFrame(null, refusal)).catch(() => {});
  }
}

/** The id of a request without one. */
const NO_ID = "null";

/** A frame with the id of its request as JSON. */
interface NamedFrame extends Pick<ReceivedFrame, "parse"> {
  readonly request: string;
}

function binaryFrame(): NamedFrame {
  return refusedFrame(new ProtocolError("MALFORMED_BODY", "the frame is binary; frames are JSON as text"));
}

async function readFrame(data: Buffer, run: RunSlice, reserve: ReserveMemory): Promise<NamedFrame> {
  try {
    const message = await parseJson(data, run, reserve);
    const { id }: { readonly id?: unknown } = Object(message);
    const isExact = id instanceof ExactNumber;
    const frame = readParsedFrame(isExact ? { ...Object(message), id: Number(id.text) } : message);
    const request = isExact && frame.request !== null ? id.text : JSON.stringify(frame.request);
    const isLong = typeof frame.request === "number" && request.length > MAX_REQUEST_ID_LENGTH;
    if (isLong)
      return refusedFrame(
        new ProtocolError("MALFORMED_BODY", `\`id\` has more than ${MAX_REQUEST_ID_LENGTH} characters`),
      );
    return { ...frame, request };
  } catch (error) {
    if (error instanceof ProtocolError) return refusedFrame(error);
    return refusedFrame(new ProtocolError("MALFORMED_JSON", "the frame is not JSON"));
  }
}

function refusedFrame(refusal: ProtocolError): NamedFrame {
  return {
    request: NO_ID,
    parse() {
      throw refusal;
    },
  };
}

function duplicateId(request: string): ProtocolError {
  const qualifier = request === NO_ID ? "without an id" : `with the id ${request}`;
  const message = `a request ${qualifier} is in flight on this connection`;
  return new ProtocolError("DUPLICATE_REQUEST_ID", message);
}

function connectionFull(limit: number): ProtocolError {
  const message = `this connection has ${limit} requests in flight, as many as it may`;
  return new ProtocolError("CONNECTION_FULL", message, { capacity: limit });
}
