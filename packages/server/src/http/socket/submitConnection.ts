import {
  type ClientFrame,
  encodeDoneFrame,
  encodeErrorFrame,
  encodeLineFrame,
  ProtocolError,
  type ReceivedFrame,
  type RequestId,
  readClientFrame,
  readParsedFrame,
} from "@gas-waiver/protocol";
import type { Intake } from "../../intake/intake.js";
import { partyOf } from "../../model/keys/caller.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { Metrics } from "../../model/telemetry/metrics.js";
import type { LineGroup } from "../../results/resultLine.js";
import { MAX_BYTES_AT_ONCE, parseInSlices, type RunSlice } from "../../util/slicedJson.js";
import { slicesOf } from "../body/jsonBody.js";
import { internalError } from "../errors.js";
import type { RateLimiter } from "../limits/rateLimiter.js";
import type { ReadLimiter } from "../limits/readLimiter.js";
import { type AcceptedSocket, type ConnectionDependencies, SocketConnection } from "./connection.js";

export interface SubmitDependencies extends ConnectionDependencies {
  readonly intake: Pick<Intake, "submit" | "watch">;
  readonly rateLimiter: RateLimiter;
  readonly readLimiter: ReadLimiter;
  readonly options: Pick<ResolvedOptions, "maxBodyBytes" | "maxSocketRequests">;
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
  /** The requests by their ids; null is the one without an id. */
  readonly #inFlight = new Set<RequestId | null>();
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
   * @param onStored called once, when the first of the frame's transactions are in the store, or none will be.
   */
  protected override async respond(data: Buffer, isBinary: boolean, onStored: () => void): Promise<void> {
    const received = isBinary
      ? binaryFrame()
      : await readFrame(data, slicesOf(this.#dependencies.loop, partyOf(this.caller)));
    const { request } = received;
    let isInFlight = false;
    let stream: AsyncIterator<LineGroup> | undefined;
    try {
      const lines = await this.#admit(received, onStored);
      isInFlight = true;
      stream = lines[Symbol.asyncIterator]();
      this.#streams.add(stream);
      for (let next = await stream.next(); !next.done; next = await stream.next()) {
        for (const line of next.value) await this.send(encodeLineFrame(request, line));
      }
      // Before the done frame, because the client may use the id again at once.
      isInFlight = !this.#inFlight.delete(request);
      await this.send(encodeDoneFrame(request));
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
  async #admit({ request, parse }: ReceivedFrame, onStored: () => void): Promise<AsyncIterable<LineGroup>> {
    const { maxSocketRequests } = this.#dependencies.options;
    try {
      if (request !== null && this.#inFlight.has(request)) throw duplicateId(request);
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

  async #refuse(request: RequestId | null, error: unknown): Promise<void> {
    if (!this.isOpen) return;
    const { log, metrics } = this.#dependencies;
    const refusal = error instanceof ProtocolError ? error : internalError();
    if (refusal !== error) log.error({ err: error }, "a request over a WebSocket failed");
    metrics.refused(refusal, this.caller.keyId);
    this.chargeRefusal();
    // With the id of a request in flight, the error would look like the answer to that request.
    const answeredId = refusal.reason === "DUPLICATE_REQUEST_ID" ? null : request;
    await this.send(encodeErrorFrame(answeredId, refusal)).catch(() => {});
  }
}

function binaryFrame(): ReceivedFrame {
  return refusedFrame("MALFORMED_BODY", "the frame is binary; frames are JSON as text");
}

async function readFrame(data: Buffer, run: RunSlice): Promise<ReceivedFrame> {
  if (data.length <= MAX_BYTES_AT_ONCE) return readClientFrame(data.toString());
  try {
    return readParsedFrame(await parseInSlices(data, run));
  } catch (error) {
    if (error instanceof ProtocolError) return refusedFrame("MALFORMED_BODY", error.message);
    return refusedFrame("MALFORMED_JSON", "the frame is not JSON");
  }
}

function refusedFrame(reason: "MALFORMED_BODY" | "MALFORMED_JSON", message: string): ReceivedFrame {
  return {
    request: null,
    parse() {
      throw new ProtocolError(reason, message);
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
