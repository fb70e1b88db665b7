import { setTimeout as sleep } from "node:timers/promises";
import { CLOSE_CODES, errorBodyOf, ProtocolError } from "@gas-waiver/protocol";
import type { BlockFeed } from "../../gateway/feed/blockFeed.js";
import type { SubscriptionLimits } from "../../gateway/feed/subscriptionLimits.js";
import { createSubscriptions, type Subscriptions } from "../../gateway/feed/subscriptions.js";
import type { Gateway } from "../../gateway/gateway.js";
import { encodeRefusalOf, GatewayRefusal, RPC_CODES } from "../../gateway/jsonRpc.js";
import type { Exchange } from "../../gateway/toldAnswers.js";
import { refusalFor } from "../../gateway/words.js";
import { type Caller, partyOf } from "../../model/keys/caller.js";
import type { MemoryReservation } from "../../model/memoryReservation.js";
import { PRICES } from "../../model/prices.js";
import { parseJson, type ReserveMemory, type RunSlice } from "../../util/slicedJson.js";
import { slicesOf } from "../body/jsonBody.js";
import { RateRefusal } from "../limits/rates.js";
import { partOfBody } from "../limits/requestTurns.js";
import { type AcceptedSocket, type ConnectionDependencies, SocketConnection } from "../socket/connection.js";
import { admitAnswer } from "./admitAnswer.js";

export interface GatewayConnectionDependencies extends ConnectionDependencies {
  readonly gateway: Pick<Gateway, "answer" | "beginExchange">;
  readonly blockFeed: Pick<BlockFeed, "onHead" | "onLogs">;
  readonly subscriptionLimits: Pick<SubscriptionLimits, "open">;
  /** Counts bytes that are sent unasked. @throws {@link RateRefusal} */
  countNotified(caller: Caller, bytes: number): void;
}

/** A client for which notifications of more characters wait is disconnected. All clients share the texts of a block. */
const MAX_WAITING_CHARACTERS = 33_554_432;

/** Notifications of one subscription, which wait until the client has read those before. */
interface WaitingNotifications {
  readonly subscription: string;
  readonly results: readonly string[];
}

/** A WebSocket that speaks JSON-RPC: the same answers as `POST /rpc/<key>`, and subscriptions. */
export class GatewayConnection extends SocketConnection {
  readonly #dependencies: GatewayConnectionDependencies;
  readonly #subscriptions: Subscriptions;
  readonly #counted: ReturnType<SubscriptionLimits["open"]>;
  #inFlight = 0;
  #waiting: WaitingNotifications[] = [];
  #waitingCharacters = 0;
  #isNotifying = false;

  constructor(accepted: AcceptedSocket, dependencies: GatewayConnectionDependencies) {
    super(accepted, dependencies);
    this.#dependencies = dependencies;
    this.#counted = dependencies.subscriptionLimits.open(this.caller, () =>
      this.#closeAsBehind("others have few subscriptions and need the room: subscribe again"),
    );
    this.#subscriptions = createSubscriptions(dependencies.blockFeed, {
      enter: this.#counted.enter,
      inTurn: (logs, compare) =>
        dependencies.loop.run(partyOf(this.caller), logs * PRICES.comparedLog, compare),
      notify: (subscription, results) => this.#notify({ subscription, results }),
      onLost: () => this.#closeAsBehind("logs of some blocks could not be read: subscribe again"),
    });
  }

  protected override endStreams(): void {
    this.#subscriptions.end();
    this.#counted.end();
    this.#waiting = [];
  }

  override get isIdle(): boolean {
    return super.isIdle && this.#subscriptions.isEmpty;
  }

  protected override async respond(
    data: Buffer,
    _isBinary: boolean,
    memory: MemoryReservation,
  ): Promise<void> {
    this.#inFlight++;
    const exchange = this.#dependencies.gateway.beginExchange(() => !this.isOpen, memory);
    try {
      const answer = await this.#answer(data, exchange, memory);
      if (!this.isOpen) exchange.lost();
      else if (answer !== undefined) await this.send(answer).catch(() => exchange.lost());
    } finally {
      this.#inFlight--;
      memory.release();
    }
  }

  async #answer(data: Buffer, exchange: Exchange, memory: MemoryReservation): Promise<string | undefined> {
    const { gateway, options } = this.#dependencies;
    const slices = (part?: string) => slicesOf(this.#dependencies.loop, partyOf(this.caller), part);
    let message: unknown;
    try {
      message = await messageOf(data, slices(partOfBody(data.length)), memory.grow);
      if (this.#inFlight > options.maxSocketRequests) {
        throw new GatewayRefusal(
          RPC_CODES.limitExceeded,
          "this connection has as many calls in flight as it may",
        );
      }
      const answer = await gateway.answer(message, this.caller, exchange, this.#subscriptions);
      await admitAnswer(answer, slices());
      return answer;
    } catch (error) {
      const refusal = error instanceof ProtocolError ? refusalFor(errorBodyOf(error)) : error;
      if (!(refusal instanceof GatewayRefusal)) throw refusal;
      this.chargeRefusal();
      return encodeRefusalOf(message, refusal);
    }
  }

  #notify(notifications: WaitingNotifications): void {
    if (!this.isOpen) return;
    this.#waitingCharacters += charactersOf(notifications);
    if (this.#waitingCharacters > MAX_WAITING_CHARACTERS) {
      this.#closeAsBehind("the client does not read its notifications");
      return;
    }
    this.#waiting.push(notifications);
    if (!this.#isNotifying) void this.#sendWaiting();
  }

  /** Resolves when the client's address and key may be sent so many bytes, or when the connection is closed. */
  async #mayNotify(bytes: number): Promise<void> {
    while (this.isOpen) {
      try {
        this.#dependencies.countNotified(this.caller, bytes);
        return;
      } catch (error) {
        if (!(error instanceof RateRefusal)) throw error;
        await sleep(NOTIFIED_PAUSE_MS, undefined, { ref: false });
      }
    }
  }

  /** Closes because the client will not get all of its notifications. */
  #closeAsBehind(reason: string): void {
    this.endStreams();
    this.close(CLOSE_CODES.tryAgainLater, reason);
  }

  /** Sends at the pace at which the client reads, and may be sent to, so that a block of many logs holds up nobody. */
  async #sendWaiting(): Promise<void> {
    this.#isNotifying = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        for (const result of next.results) {
          await this.#mayNotify(result.length + BYTES_OF_NOTIFICATION);
          if (!this.isOpen) return;
          await this.#dependencies.loop.run(partyOf(this.caller), PRICES.notification, () =>
            this.send(notificationOf(next.subscription, result)),
          );
        }
        this.#waitingCharacters -= charactersOf(next);
      }
    } catch {
      // The connection is gone.
    } finally {
      this.#isNotifying = false;
    }
  }
}

/** A notification costs as much as this many bytes of its content. */
const BYTES_OF_NOTIFICATION = 512;
/** The pause of a client that has been sent as much as it may. */
const NOTIFIED_PAUSE_MS = 100;

function charactersOf({ results }: WaitingNotifications): number {
  return results.reduce((sum, result) => sum + result.length, 0);
}

function notificationOf(subscription: string, result: string): string {
  return `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${subscription}","result":${result}}}`;
}

/**
 * Reads a frame of text or a binary one, as nodes do: web3.py sends binary frames unless it is told otherwise.
 * @throws {@link GatewayRefusal} "parse error".
 */
async function messageOf(data: Buffer, run: RunSlice, reserve: ReserveMemory): Promise<unknown> {
  try {
    return await parseJson(data, run, reserve);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayRefusal(RPC_CODES.parseError, "parse error: the frame is not JSON");
  }
}
