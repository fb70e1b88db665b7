import { errorBodyOf, ProtocolError } from "@gas-waiver/protocol";
import { isObject } from "../chain/rpc/rpc.js";
import type { Caller } from "../model/keys/caller.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Subscriptions } from "./feed/subscriptions.js";
import {
  encodeRefusal,
  encodeResult,
  GatewayRefusal,
  invalidParams,
  MAX_GATEWAY_CALLS,
  RPC_CODES,
  type RpcRequest,
  readRequest,
} from "./jsonRpc.js";
import type { GatewayMethods } from "./methods.js";
import { type Exchange, ToldAnswers } from "./toldAnswers.js";
import { refusalFor } from "./words.js";

export interface GatewayDependencies {
  readonly methods: GatewayMethods;
  /** Counts the reads of a message. @throws {@link ProtocolError} `RATE_EXCEEDED`, and then counts none. */
  countReads(caller: Caller, reads: number): void;
  /** The most bytes of the answers to one batch. */
  readonly maxAnswerBytes: number;
  readonly log: Logger;
}

type ReadRequest = ReturnType<typeof readRequest>;

/** Whoever sent a message, with the subscriptions of its connection. */
interface Client {
  readonly caller: Caller;
  readonly subscriptions: Subscriptions | undefined;
  readonly exchange: Exchange;
}

/** Answers JSON-RPC like a node of a chain without fees, on which this service waives the gas. */
export class Gateway {
  readonly #dependencies: GatewayDependencies;
  readonly #told = new ToldAnswers();

  constructor(dependencies: GatewayDependencies) {
    this.#dependencies = dependencies;
  }

  /** Begins an exchange with a client, as {@link ToldAnswers.begin} does. */
  beginExchange(...about: Parameters<ToldAnswers["begin"]>): Exchange {
    return this.#told.begin(...about);
  }

  /**
   * Answers a message: a request, or a batch of them.
   * @param message parsed JSON.
   * @param exchange counts the answers, and hears whether they were lost.
   * @param subscriptions of the client's connection; undefined over HTTP, which cannot carry any.
   * @returns the answer as JSON; undefined if the message has notifications alone.
   * @throws {@link ProtocolError} `RATE_EXCEEDED` or `BODIES_AT_CAPACITY`, for the message as a whole, whose answers are lost.
   */
  async answer(
    message: unknown,
    caller: Caller,
    exchange: Exchange,
    subscriptions?: Subscriptions,
  ): Promise<string | undefined> {
    const client = { caller, subscriptions, exchange };
    try {
      if (Array.isArray(message)) return await this.#answerBatch(message, client);
      const request = readRequest(message);
      this.#dependencies.countReads(caller, this.#costOf(request));
      return held(await this.#answerOne(request, client), exchange);
    } catch (error) {
      exchange.lost();
      throw error;
    }
  }

  async #answerBatch(calls: readonly unknown[], client: Client): Promise<string | undefined> {
    const { countReads, maxAnswerBytes } = this.#dependencies;
    if (calls.length === 0 || calls.length > MAX_GATEWAY_CALLS) {
      // Each call counts, but none is read: to refuse 100,000 of them one by one would hold up everybody else.
      countReads(client.caller, Math.max(1, calls.length));
      const message =
        calls.length === 0 ? "empty batch" : `batch too large: at most ${MAX_GATEWAY_CALLS} calls`;
      return encodeRefusal(null, new GatewayRefusal(RPC_CODES.invalidRequest, message));
    }
    const requests = calls.map(readRequest);
    countReads(
      client.caller,
      requests.reduce((sum, request) => sum + this.#costOf(request), 0),
    );
    let room = maxAnswerBytes;
    const answerWithinRoom = async (request: ReadRequest) => {
      const answer = await this.#answerOne(request, client);
      if (answer === undefined) return undefined;
      room -= answer.length;
      return held(
        room >= 0 ? answer : encodeRefusal(request.id ?? null, BATCH_ANSWER_TOO_LARGE),
        client.exchange,
      );
    };
    const answers = (await Promise.all(requests.map(answerWithinRoom))).filter(
      (answer) => answer !== undefined,
    );
    return answers.length === 0 ? undefined : `[${answers.join(",")}]`;
  }

  async #answerOne(request: ReadRequest, client: Client): Promise<string | undefined> {
    if ("refusal" in request) return encodeRefusal(request.id, request.refusal);
    const { id } = request;
    try {
      const result = await this.#run(request, client);
      return id === undefined ? undefined : encodeResult(id, result);
    } catch (error) {
      const refusal = gatewayRefusalOf(error);
      if (refusal === undefined) {
        const { log } = this.#dependencies;
        log.error({ err: error, method: request.method }, "a call of the gateway failed");
      }
      return id === undefined ? undefined : encodeRefusal(id, refusal ?? FAILED);
    }
  }

  async #run({ method, params }: RpcRequest, { caller, subscriptions, exchange }: Client): Promise<unknown> {
    if (isDeeperThan(MAX_DEPTH, params)) throw invalidParams("the parameters are nested too deeply");
    const known = this.#dependencies.methods.get(method);
    if (known !== undefined) return await known.answer(params, caller, exchange);
    if (method === "eth_subscribe") {
      if (subscriptions === undefined) throw NO_NOTIFICATIONS;
      return subscriptions.subscribe(params);
    }
    if (method === "eth_unsubscribe" && subscriptions) return subscriptions.unsubscribe(params);
    // Libraries look for these words of geth, and do without the method.
    const message = `the method ${method.slice(0, MAX_SHOWN_METHOD)} does not exist/is not available`;
    throw new GatewayRefusal(RPC_CODES.methodNotFound, message);
  }

  #costOf(request: ReadRequest): number {
    return ("method" in request && this.#dependencies.methods.get(request.method)?.cost) || 1;
  }
}

const MAX_SHOWN_METHOD = 64;
/** Access lists and overrides have half of these levels. `JSON.stringify` fails at some thousand. */
const MAX_DEPTH = 16;
const FAILED = new GatewayRefusal(
  RPC_CODES.internalError,
  "the service failed to answer; the failure was logged",
);

/** The words of geth. */
const NO_NOTIFICATIONS = new GatewayRefusal(RPC_CODES.methodNotFound, "notifications not supported");

const BATCH_ANSWER_TOO_LARGE = new GatewayRefusal(
  RPC_CODES.serverError,
  "response too large: use smaller batches",
);

/** Counts an answer from the moment in which it is there: others of its batch may take long. @throws {@link ProtocolError} `BODIES_AT_CAPACITY` */
function held(answer: string | undefined, { memory }: Exchange): string | undefined {
  memory?.grow(answer?.length ?? 0);
  return answer;
}

/** @returns undefined for a failure of the service itself, of which clients must see nothing. */
function gatewayRefusalOf(error: unknown): GatewayRefusal | undefined {
  if (error instanceof GatewayRefusal) return error;
  return error instanceof ProtocolError ? refusalFor(errorBodyOf(error)) : undefined;
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (!isObject(value)) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeperThan(levels - 1, part));
}
