import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { Grant } from "../../keys/cachedKey.js";
import { PRICES } from "../../model/prices.js";
import { type LoopQueue, SMALL } from "../../util/loopQueue.js";
import { type Holding, SharedRoom } from "../../util/sharedRoom.js";
import type { Share } from "../../util/tally.js";
import { receiveInPieces } from "./pieces.js";
import { readInTurns } from "./readingTurns.js";

/** The sender of a request, as the limits count it. */
export interface RequestParty {
  /** An API key or an address. */
  readonly name: string;
  /** The right of its API key; undefined if it has no valid one. */
  readonly grant?: Grant | undefined;
}

/** A body or frame of so few bytes is small: five transfers of tokens have a third of it. */
const SMALL_BYTES = 8_192;

/** Names the part of a party that reads a body of this size. */
export function partOfBody(bytes: number): typeof SMALL | "" {
  return bytes <= SMALL_BYTES ? SMALL : "";
}

/** A request that needs no key counts as this share of a refused one. */
const KEYLESS_SHARE = 0.1;

/**
 * The bytes of a connection that are parsed at once, or fewer with one head. A body of unknown length comes in such pieces, too, and in
 * smaller ones it took many times the processor time of a plain one.
 */
const PIECE_BYTES = 4_096;
/** A piece behind a head without the length of its body has at least so many: the body may be nothing but what ends heads. */
const LEAST_UNKNOWN_BYTES = 64;
const END_OF_HEAD = "\r\n\r\n";

/** The most memory of requests that wait for their turns, and of bytes that wait to be read. One party may have half of it. */
export const MAX_WAITING_BYTES = 268_435_456;
/** The memory of a connection whose request waits for its turn: its client may be gone, which only reading would show. */
export const WAITING_BYTES = 65_536;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The size of the body, as its head tells it. */
  readonly bytes: number;
}

/** The exchanges of one connection that are not over. The first one is served. */
interface Turns {
  /** At most the requests of one piece beside the first, because the connection is not read while any waits. */
  readonly exchanges: Exchange[];
  /** The memory of what waits for the turn of the party, once that is known. */
  waiting?: Holding;
  /** The bytes of a packet that are not parsed yet. */
  rest: number;
  /** The first request waits for the turn of its party. */
  isWaiting: boolean;
  /** The bytes that the connection has received, and how many of them there are at least when the body of the latest request ends. */
  received: number;
  bodyEnd: number;
  /** The least bytes of a piece. */
  leastBytes: number;
  /** The connection ends after its last response. */
  isEnding: boolean;
  /** The price of the connection, until its first request is charged for it. */
  unpaid: number;
}

/**
 * Serves the requests of a connection one after the other: a request begins when the response before it has left, and
 * the connection is not read while requests wait. A client may send any number of requests without waiting for responses
 * (RFC 9112, 9.3.2), and Node would begin all of them at once. Connections take turns by their parties.
 */
export class RequestTurns {
  readonly #turns = new WeakMap<Socket, Turns>();
  readonly #loop: LoopQueue;
  readonly #waiting = new SharedRoom();
  readonly #partyOf: (request: IncomingMessage) => RequestParty;
  readonly #maxWaitingBytes: number;
  readonly #serve: (exchange: Exchange) => void;

  /** Takes the place of the server's request listeners, which then get the requests in turn. */
  constructor(
    server: Server,
    loop: LoopQueue,
    partyOf: (request: IncomingMessage) => RequestParty,
    maxWaitingBytes = MAX_WAITING_BYTES,
  ) {
    this.#loop = loop;
    this.#partyOf = partyOf;
    this.#maxWaitingBytes = maxWaitingBytes;
    const listeners = server.listeners("request");
    server.removeAllListeners("request");
    this.#serve = ({ request, response }) => {
      for (const listener of listeners) listener.call(server, request, response);
    };
    server.on("request", (request: IncomingMessage, response: ServerResponse) =>
      this.#enter({ request, response, bytes: declaredBytes(request) }),
    );
    // Behind Node's own listener, which gives the connection to a parser.
    server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) =>
      this.#receive(socket),
    );
  }

  /**
   * Closes a connection after its last pending response, and reads nothing of it until then. For connections whose further bytes
   * cannot be parsed: a client that is slowed down could have any number of them parsed in vain.
   * @returns false, and does nothing, if no response is pending.
   */
  endAfterPending(socket: Socket): boolean {
    const turns = this.#turns.get(socket);
    if (turns === undefined || !isPending(turns)) return false;
    turns.isEnding = true;
    socket.pause();
    return true;
  }

  #receive(socket: Socket): void {
    const turns = this.#turnsOf(socket);
    receiveInPieces(socket, {
      pieceOf: (rest) => pieceOf(rest, turns.leastBytes),
      bodyBytes: () => turns.bodyEnd - turns.received,
      onPiece: (bytes) => {
        turns.received += bytes;
      },
      onRest: (bytes) => {
        turns.rest = bytes;
        this.#countWaiting(turns, socket);
      },
    });
    // Node's parser reads past the stream until somebody else listens.
    socket.on("data", ignore).off("data", ignore);
  }

  #enter(exchange: Exchange): void {
    const { socket } = exchange.request;
    const turns = this.#turnsOf(socket);
    // Its head has ended in the piece that is parsed.
    const parsed = turns.received - PIECE_BYTES;
    const isKnown = Number.isFinite(exchange.bytes);
    turns.bodyEnd = parsed + (isKnown ? exchange.bytes : 0);
    turns.leastBytes = isKnown ? END_OF_HEAD.length : LEAST_UNKNOWN_BYTES;
    if (turns.exchanges.push(exchange) === 1) this.#begin(turns, exchange);
    else socket.pause();
  }

  /** Counts what waits in memory until others have had their turns: a request, the rest of a packet, and what has come of a body. */
  #countWaiting({ waiting, rest, isWaiting, exchanges: [first] }: Turns, socket: Socket): void {
    const bytes = rest + (first?.request.readableLength ?? 0) + (isWaiting ? WAITING_BYTES : 0);
    if (waiting === undefined || bytes === waiting.amount) return;
    if (this.#waiting.grow(waiting, bytes - waiting.amount)) socket.destroy();
  }

  #openWaiting(turns: Turns, { name: party, grant }: RequestParty, socket: Socket): void {
    const shares: Share[] = [[party, this.#maxWaitingBytes / 2, "party"]];
    // Strangers may be so many that each has little, and nobody could make room. They shut out no secret key.
    if (grant === undefined || grant.caller.publishable) shares.push(["", this.#maxWaitingBytes, "all"]);
    if (turns.waiting) this.#waiting.release(turns.waiting);
    turns.waiting = this.#waiting.open({ party, shares }, () => socket.destroy());
  }

  #turnsOf(socket: Socket): Turns {
    const known = this.#turns.get(socket);
    if (known) return known;
    const turns: Turns = {
      exchanges: [],
      rest: 0,
      isWaiting: false,
      received: 0,
      bodyEnd: 0,
      leastBytes: END_OF_HEAD.length,
      isEnding: false,
      unpaid: PRICES.connection,
    };
    this.#turns.set(socket, turns);
    socket.once("close", () => turns.waiting && this.#waiting.release(turns.waiting));
    // Node resumes a connection by itself: at the end of a request, when it reads a body, when written bytes have left.
    const resume = socket.resume.bind(socket);
    socket.resume = () => (turns.exchanges.length > (turns.isEnding ? 0 : 1) ? socket : resume());
    return turns;
  }

  #begin(turns: Turns, exchange: Exchange): void {
    const { request, response, bytes } = exchange;
    const party = this.#partyOf(request);
    const { socket } = request;
    if (turns.waiting?.owner.party !== party.name) this.#openWaiting(turns, party, socket);
    // The connection may be idle for long then, or wait for its response.
    request.once("end", () => this.#countWaiting(turns, socket));
    let charged = socket.bytesWritten;
    const chargeSent = () => {
      this.#loop.charge(party.name, (socket.bytesWritten - charged) * PRICES.sentByte);
      charged = socket.bytesWritten;
    };
    // Also before a client has read its answer, which may be never.
    response.once("prefinish", chargeSent);
    let leave = () => {};
    let drop = (): void => {
      request.resume();
    };
    response.once("close", () => {
      leave();
      turns.isWaiting = false;
      chargeSent();
      drop();
      if (response.statusCode >= 400) this.#loop.refuse(party.name);
      else if (party.grant === undefined) this.#loop.refuse(party.name, KEYLESS_SHARE);
      this.#next(turns, socket);
    });
    const part = partOfBody(bytes);
    if (part === "") drop = readInTurns(request, this.#loop, party.name);
    const price = turns.unpaid + PRICES.request + (request.rawHeaders.length / 2) * PRICES.field;
    turns.unpaid = 0;
    const start = () => {
      turns.isWaiting = false;
      this.#countWaiting(turns, socket);
      this.#serve(exchange);
    };
    turns.isWaiting = true;
    leave = this.#loop.enter(party.name, price, start, part);
    this.#countWaiting(turns, socket);
  }

  #next(turns: Turns, socket: Socket): void {
    turns.exchanges.shift();
    const isOver = turns.isEnding && !isPending(turns);
    if (isOver) socket.end();
    if (isOver || socket.destroyed) turns.exchanges.length = 0;
    const [next] = turns.exchanges;
    if (next === undefined) socket.resume();
    else this.#begin(turns, next);
  }
}

const ignore = () => {};

function pieceOf(rest: Buffer, leastBytes: number): number {
  const end = rest.subarray(0, PIECE_BYTES).indexOf(END_OF_HEAD, leastBytes - END_OF_HEAD.length);
  return end < 0 ? PIECE_BYTES : end + END_OF_HEAD.length;
}

function declaredBytes({ headers }: IncomingMessage): number {
  const isChunked = headers["transfer-encoding"] !== undefined;
  return isChunked ? Number.POSITIVE_INFINITY : Number(headers["content-length"] ?? 0);
}

/** A request that broke off gets no response, unless it was refused before. */
function isPending({ exchanges }: Turns): boolean {
  return exchanges.some(({ request, response }) => request.complete || response.headersSent);
}
