import {
  CLOSE_CODES,
  type ErrorBody,
  encodeClientFrame,
  parseServerFrame,
  type RequestId,
  ROUTES,
  type ServerFrame,
  WireError,
} from "@gas-waiver/protocol/wire";
import type { WebSocketConstructor } from "./connect.js";
import { isPassing, refusalOf, tooLarge } from "./frameRefusal.js";
import { Reconnection, type ReconnectionOptions } from "./Reconnection.js";
import { largestOf, type SentFrame } from "./SentFrame.js";
import { Silence } from "./Silence.js";
import { SocketLink } from "./SocketLink.js";
import type { Part, SocketRequest } from "./SocketRequest.js";
import { ConnectionFailedError, MalformedAnswerError, RequestRefusedError } from "./WaiverClientError.js";

export interface SessionOptions extends ReconnectionOptions {
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly WebSocket: WebSocketConstructor;
  readonly maxFrames: number;
}

/** HTTP's status of a connection that is a WebSocket. */
const SWITCHED = 101;
/** When a refusal of what was sent before is tried again. */
const REFUSED_MS = 1_000;
/** The requests of one client, over one connection after the other. */
export class SocketSession {
  readonly #options: SessionOptions;
  readonly #reconnection: Reconnection;
  readonly #requests = new Set<SocketRequest>();
  /** Those that have something to send. */
  readonly #ready = new Set<SocketRequest>();
  readonly #frames = new Map<RequestId, SentFrame>();
  #link: SocketLink | undefined;
  #nextId = 1;
  readonly #silence = new Silence(
    () => {
      const [due] = this.#frames.values();
      if (this.#link && due) this.#askForLife(this.#link, due.request, []);
    },
    () => this.#link?.abandon(),
  );
  #later: ReturnType<typeof setTimeout> | undefined;
  #isWaiting = false;
  #isClosed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#reconnection = new Reconnection(options);
  }

  add(request: SocketRequest): void {
    if (this.#isClosed) {
      request.fail(this.#closed("not_sent"));
      return;
    }
    this.#requests.add(request);
    this.#ready.add(request);
    this.#pump();
  }

  /** Nobody waits for it any more. */
  remove(request: SocketRequest): void {
    this.#requests.delete(request);
    this.#ready.delete(request);
    if (this.#requests.size === 0 && this.#link === undefined) this.#rest();
  }

  close(): void {
    this.#isClosed = true;
    this.#link?.close();
    this.#link = undefined;
    this.#failAll((certainty) => this.#closed(certainty));
    this.#rest();
  }

  #closed(certainty: "not_sent" | "unknown"): Error {
    return this.#failure(certainty, new Error("the client is closed"));
  }

  #failure(certainty: "not_sent" | "unknown", cause: unknown): Error {
    if (cause instanceof RequestRefusedError) return cause;
    return new ConnectionFailedError(this.#options.base, certainty, cause);
  }

  #rest(): void {
    this.#isWaiting = false;
    this.#reconnection.stop();
    this.#silence.end();
    clearTimeout(this.#later);
  }

  #pump(): void {
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
      for (const part of request.send()) this.#send(link, request, part);
      request.wasSent = true;
    }
  }

  #send(link: SocketLink, request: SocketRequest, { kind, indexes, values }: Part): void {
    const id = this.#nextId++;
    const wait = request.wait && { wait: request.wait };
    const text = encodeClientFrame(
      kind === "watch" ? { id, watch: values, ...wait } : { id, transactions: values, ...wait },
    );
    const purpose = request.wasSent ? "again" : "first";
    this.#frames.set(id, { request, indexes, length: text.length, purpose });
    link.send(text);
    this.#silence.break();
  }

  /** Nothing to watch, and an answer all the same: only a service that goes on gives it. */
  #askForLife(link: SocketLink, request: SocketRequest, indexes: readonly number[]): void {
    const id = this.#nextId++;
    this.#frames.set(id, { request, indexes, length: 0, purpose: "life" });
    link.send(encodeClientFrame({ id, watch: [] }));
  }

  #connect(): void {
    const { WebSocket, base, apiKey } = this.#options;
    try {
      this.#link = new SocketLink(WebSocket, `${base.replace(/^http/, "ws")}${ROUTES.socket.path}`, apiKey, {
        open: () => {
          this.#reconnection.succeed();
          this.#pump();
        },
        text: (text) => this.#read(text),
        gone: (code, wasOpen) => this.#lose(code, wasOpen),
      });
    } catch (error) {
      this.#failAll(() => error);
    }
  }

  #lose(code: number, wasOpen: boolean): void {
    this.#link = undefined;
    this.#silence.end();
    if (code === CLOSE_CODES.messageTooBig) {
      // No answer says which it was, and it would end the next connection as well.
      const largest = largestOf(this.#frames.values());
      largest?.request.fail(refusalOf(tooLarge(largest.length)));
    }
    this.#frames.clear();
    for (const request of this.#requests) {
      if (request.failed) continue;
      request.takeBack();
      this.#ready.add(request);
    }
    if (this.#requests.size === 0) return;
    this.#isWaiting = true;
    void this.#reconnection.fail(wasOpen).then((next) => {
      if (next === undefined) return;
      this.#isWaiting = false;
      if (next.again) this.#pump();
      else this.#failAll((certainty) => this.#failure(certainty, next.cause));
    });
  }

  #read(text: string): void {
    let frame: ServerFrame;
    try {
      frame = parseServerFrame(text);
    } catch (cause) {
      if (!(cause instanceof WireError)) throw cause;
      this.#giveUp(`a frame cannot be read: ${cause.message}`, cause);
      return;
    }
    this.#silence.break();
    const { request: id } = frame;
    const sent = id === null ? undefined : this.#frames.get(id);
    if (id === null || sent === undefined) {
      this.#giveUp("a frame answers nothing that was asked");
    } else if (frame.kind === "line") {
      const index = sent.indexes[frame.line.index];
      if (index === undefined || !sent.request.hear({ ...frame.line, index })) {
        this.#giveUp(`a line for index ${frame.line.index}, which was answered before or never sent`);
      }
    } else {
      this.#frames.delete(id);
      if (frame.kind === "done") this.#finish(sent);
      else this.#refuse(sent, frame.error);
      if (this.#frames.size === 0) this.#silence.end();
      this.#pump();
    }
  }

  #finish({ request, indexes, purpose }: SentFrame): void {
    if (purpose === "life") {
      request.release(indexes);
    } else if (request.awaits(indexes)) {
      this.#giveUp("a request is done without a line for each transaction");
    } else if (request.holds(indexes) && this.#link) {
      this.#askForLife(this.#link, request, indexes);
    }
    if (request.hasSomethingToSend) this.#ready.add(request);
  }

  #refuse({ request, indexes, purpose }: SentFrame, error: ErrorBody): void {
    const { reason } = error;
    if (reason === "SHUTTING_DOWN") {
      // It closes when it has answered all; what is left is taken back then.
      if (this.#frames.size === 0) this.#link?.abandon();
    } else if (purpose === "life") {
      request.release(indexes);
    } else if (reason === "CONNECTION_FULL" || (purpose === "again" && isPassing(error))) {
      request.takeBack(indexes);
      clearTimeout(this.#later);
      this.#later = setTimeout(() => {
        for (const one of this.#requests) if (one.hasSomethingToSend) this.#ready.add(one);
        this.#pump();
      }, REFUSED_MS);
    } else {
      request.fail(refusalOf(error));
    }
  }

  /** This is no gas-waiver service, or a broken one. */
  #giveUp(what: string, cause?: Error): void {
    this.#link?.close();
    this.#link = undefined;
    const error = new MalformedAnswerError(SWITCHED, `the answer cannot be used: ${what}`, { cause });
    this.#failAll(() => error);
    this.#rest();
  }

  #failAll(errorFor: (certainty: "not_sent" | "unknown") => unknown): void {
    this.#frames.clear();
    this.#ready.clear();
    for (const request of this.#requests) request.fail(errorFor(request.wasSent ? "unknown" : "not_sent"));
  }
}
