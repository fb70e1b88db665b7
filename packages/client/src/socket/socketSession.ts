import {
  CLOSE_CODES,
  type ErrorBody,
  encodeClientFrame,
  parseServerFrame,
  type RequestId,
  type ServerFrame,
  SOCKET_ROUTE,
  WireError,
} from "@gas-waiver/protocol/wire";
import { ConnectionFailedError, MalformedAnswerError, RequestRefusedError } from "../errors.js";
import { frameTooLargeError, isTemporary, toRequestRefusedError } from "./frameRefusal.js";
import { createHeartbeat } from "./heartbeat.js";
import { createReconnection, type Reconnection, type ReconnectionOptions } from "./reconnection.js";
import { openLink, type SocketLink, type WebSocketConstructor } from "./socketLink.js";
import type { FramePart, SocketRequest } from "./socketRequest.js";

export interface SessionOptions extends ReconnectionOptions {
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly WebSocket: WebSocketConstructor;
  readonly maxFrames: number;
}

/** The HTTP status of an answer that became a WebSocket. */
const SWITCHING_PROTOCOLS = 101;
/** The pause, in ms, before a frame is sent again that the service refused for now. */
const RETRY_REFUSED_FRAME_MS = 1_000;

/** Carries the requests of one client over one WebSocket after another. */
export class SocketSession {
  readonly #options: SessionOptions;
  readonly #reconnection: Reconnection;
  readonly #requests = new Set<SocketRequest>();
  /** The requests that have something to send. */
  readonly #ready = new Set<SocketRequest>();
  readonly #frames = new Map<RequestId, SentFrame>();
  #link: SocketLink | undefined;
  #nextId = 1;
  readonly #heartbeat = createHeartbeat(
    () => {
      const [due] = this.#frames.values();
      if (this.#link && due) this.#probe(this.#link, due.request, []);
    },
    () => this.#link?.abandon(),
  );
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #isWaiting = false;
  #isClosed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#reconnection = createReconnection(options);
  }

  add(request: SocketRequest): void {
    if (this.#isClosed) {
      request.fail(this.#closedError("not_sent"));
      return;
    }
    this.#requests.add(request);
    this.#ready.add(request);
    this.#sendReady();
  }

  /** Forgets a request that its caller has left. */
  remove(request: SocketRequest): void {
    this.#requests.delete(request);
    this.#ready.delete(request);
    if (this.#requests.size === 0 && this.#link === undefined) this.#stop();
  }

  close(): void {
    this.#isClosed = true;
    this.#link?.close();
    this.#link = undefined;
    this.#failAll((certainty) => this.#closedError(certainty));
    this.#stop();
  }

  #closedError(certainty: "not_sent" | "unknown"): Error {
    return this.#connectionError(certainty, new Error("the client is closed"));
  }

  #connectionError(certainty: "not_sent" | "unknown", cause: unknown): Error {
    // Frames that left before may have been accepted, whatever a later handshake was told.
    if (cause instanceof RequestRefusedError && certainty === "not_sent") return cause;
    return new ConnectionFailedError(this.#options.base, certainty, cause);
  }

  #stop(): void {
    this.#isWaiting = false;
    this.#reconnection.stop();
    this.#heartbeat.stop();
    clearTimeout(this.#retryTimer);
  }

  #sendReady(): void {
    const link = this.#link;
    if (link === undefined) {
      if (this.#ready.size > 0 && !this.#isWaiting) this.#connect();
      return;
    }
    if (!link.isOpen) return;
    for (const request of this.#ready) {
      if (this.#frames.size >= this.#options.maxFrames) return;
      this.#ready.delete(request);
      if (request.failed) continue;
      for (const part of request.takeParts()) this.#send(link, request, part);
      request.wasSent = true;
    }
  }

  #send(link: SocketLink, request: SocketRequest, { kind, indexes, values }: FramePart): void {
    const id = this.#nextId++;
    const wait = request.wait && { wait: request.wait };
    const text = encodeClientFrame(
      kind === "watch" ? { id, watch: values, ...wait } : { id, transactions: values, ...wait },
    );
    const purpose = request.wasSent ? "again" : "first";
    this.#frames.set(id, { request, indexes, length: text.length, purpose });
    link.send(text);
    this.#heartbeat.reset();
  }

  /** Watches no submission: a service that is not shutting down answers even that with `done`. */
  #probe(link: SocketLink, request: SocketRequest, indexes: readonly number[]): void {
    const id = this.#nextId++;
    this.#frames.set(id, { request, indexes, length: 0, purpose: "probe" });
    link.send(encodeClientFrame({ id, watch: [] }));
  }

  #connect(): void {
    const { WebSocket, base, apiKey } = this.#options;
    try {
      this.#link = openLink(WebSocket, `${base.replace(/^http/, "ws")}${SOCKET_ROUTE.path}`, apiKey, {
        open: () => {
          this.#reconnection.reset();
          this.#sendReady();
        },
        text: (text) => this.#onText(text),
        closed: (code, wasOpen) => this.#onClosed(code, wasOpen),
      });
    } catch (error) {
      this.#failAll(() => error);
    }
  }

  #onClosed(code: number, wasOpen: boolean): void {
    this.#link = undefined;
    this.#heartbeat.stop();
    if (code === CLOSE_CODES.messageTooBig) {
      // The close code does not tell which frame was too big. Sent again, it would end the next connection as well.
      const largest = largestOf(this.#frames.values());
      if (largest) this.#refuse(largest, frameTooLargeError(largest.length));
    }
    this.#frames.clear();
    for (const request of this.#requests) {
      if (request.failed) continue;
      request.requeue();
      this.#ready.add(request);
    }
    if (this.#requests.size === 0) return;
    this.#isWaiting = true;
    void this.#reconnection.fail(wasOpen).then((next) => {
      if (next === undefined) return;
      this.#isWaiting = false;
      if (next.again) this.#sendReady();
      else this.#failAll((certainty) => this.#connectionError(certainty, next.cause));
    });
  }

  #onText(text: string): void {
    let frame: ServerFrame;
    try {
      frame = parseServerFrame(text);
    } catch (cause) {
      if (!(cause instanceof WireError)) throw cause;
      this.#failOnMalformed(`a frame cannot be read: ${cause.message}`, cause);
      return;
    }
    this.#heartbeat.reset();
    const { request: id } = frame;
    const sent = id === null ? undefined : this.#frames.get(id);
    if (id === null || sent === undefined) {
      this.#failOnMalformed("a frame answers nothing that was asked");
    } else if (frame.kind === "line") {
      const index = sent.indexes[frame.line.index];
      if (index === undefined || !sent.request.receive({ ...frame.line, index })) {
        this.#failOnMalformed(
          `a line for index ${frame.line.index}, which was answered before or never sent`,
        );
      }
    } else {
      this.#frames.delete(id);
      if (frame.kind === "done") this.#onDone(sent);
      else this.#onRefusal(sent, frame.error);
      if (this.#frames.size === 0) this.#heartbeat.stop();
      this.#sendReady();
    }
  }

  #onDone({ request, indexes, purpose }: SentFrame): void {
    if (purpose === "probe") {
      request.releaseHeld(indexes);
    } else if (request.hasUnanswered(indexes)) {
      this.#failOnMalformed("a request is done without a line for each transaction");
    } else if (request.hasHeld(indexes) && this.#link) {
      this.#probe(this.#link, request, indexes);
    }
    if (request.hasSomethingToSend) this.#ready.add(request);
  }

  #onRefusal({ request, indexes, purpose }: SentFrame, error: ErrorBody): void {
    const { reason } = error;
    if (reason === "SHUTTING_DOWN") {
      // The service closes the connection when all frames are answered; what is unanswered is queued again then.
      if (this.#frames.size === 0) this.#link?.abandon();
    } else if (purpose === "probe") {
      request.releaseHeld(indexes);
    } else if (reason === "CONNECTION_FULL" || (purpose === "again" && isTemporary(error))) {
      request.requeue(indexes);
      clearTimeout(this.#retryTimer);
      this.#retryTimer = setTimeout(() => {
        for (const waiting of this.#requests) if (waiting.hasSomethingToSend) this.#ready.add(waiting);
        this.#sendReady();
      }, RETRY_REFUSED_FRAME_MS);
    } else this.#refuse({ request, purpose }, error);
  }

  #refuse({ request, purpose }: Pick<SentFrame, "request" | "purpose">, error: ErrorBody): void {
    const refusal = toRequestRefusedError(error);
    // The first sending of these transactions may have been accepted.
    request.fail(purpose === "again" ? this.#connectionError("unknown", refusal) : refusal);
  }

  /** Closes the connection to a peer that is not a gas-waiver service, or is broken, and fails all requests. */
  #failOnMalformed(what: string, cause?: Error): void {
    this.#link?.close();
    this.#link = undefined;
    const message = `the answer cannot be used: ${what}`;
    // One for each request: its caller finds its own transactions in doubt there.
    this.#failAll(() => new MalformedAnswerError(SWITCHING_PROTOCOLS, message, { cause }));
    this.#stop();
  }

  #failAll(errorFor: (certainty: "not_sent" | "unknown") => unknown): void {
    this.#frames.clear();
    this.#ready.clear();
    for (const request of this.#requests) request.fail(errorFor(request.wasSent ? "unknown" : "not_sent"));
  }
}

/** A frame that was sent on this connection and is not done. */
interface SentFrame {
  readonly request: SocketRequest;
  /** The positions in the request that the frame's own positions stand for. */
  readonly indexes: readonly number[];
  /** The length in characters. */
  readonly length: number;
  /** `first` and `again` carry transactions or ids; `probe` only asks whether the service still answers. */
  readonly purpose: "first" | "again" | "probe";
}

/** The longest frame, or undefined if there is none. */
export function largestOf(frames: Iterable<SentFrame>): SentFrame | undefined {
  let largest: SentFrame | undefined;
  for (const frame of frames) if (largest === undefined || frame.length > largest.length) largest = frame;
  return largest;
}
