import { ProtocolError } from "@gas-waiver/protocol";
import { type AnswerMemory, ResponseTooLargeError } from "../chain/rpc/httpPoster.js";
import { NodeRpcError, type Rpc, type RpcCall, type RpcOutcome } from "../chain/rpc/rpc.js";
import type { Caller } from "../model/keys/caller.js";
import { WorkQueue } from "../util/workQueue.js";
import type { AnswerCache } from "./answerCache.js";
import { EncodedJson, GatewayRefusal, RPC_CODES } from "./jsonRpc.js";

/** The nodes, over connections of the gateway alone. */
export type GatewayRpc = Pick<Rpc, "read" | "send">;

export interface ReadOptions {
  /** The answer must not be older than this moment, so the call joins no earlier one. */
  readonly fresh?: boolean;
  /** Changes the node's answer before it is remembered. All calls of a method have the same. */
  readonly change?: (answer: unknown) => unknown;
}

/** Calls the chain's nodes for clients of the gateway. */
export interface NodeReader {
  /**
   * Makes a call that changes nothing.
   * @returns the answer, or `EncodedJson` of it where it cannot change any more.
   * @throws {@link GatewayRefusal} the node's own error, or that no node answers.
   */
  read(call: RpcCall, caller: Caller, options?: ReadOptions): Promise<unknown>;
  /** Reads an answer that nobody looks into. All who ask for it at the same time get the same text. @throws {@link GatewayRefusal} as {@link read} does. */
  pass(call: RpcCall, caller: Caller, change?: ReadOptions["change"]): Promise<EncodedJson>;
  /** Sends a signed transaction that pays for itself. @throws {@link GatewayRefusal} as {@link read} does. */
  send(raw: string, caller: Caller): Promise<unknown>;
}

/** An answer for all who ask for it at the same time. */
class SharedAnswer {
  #encoded: EncodedJson | undefined;

  constructor(readonly value: unknown) {}

  /** The answer as JSON, written once: to write 10 MB takes tens of milliseconds. */
  get encoded(): EncodedJson {
    this.#encoded ??= this.value instanceof EncodedJson ? this.value : new EncodedJson(this.value ?? null);
    return this.#encoded;
  }
}

/** Calls that the nodes work on at the same time: of all clients, of which one publishable key has a third, and of one client or address. */
const MAX_CONCURRENT = 96;
const MAX_CONCURRENT_PER_CLIENT = 16;
/** Calls that wait for their turn. A batch has 100 at most. */
const MAX_WAITING = 4_096;
const MAX_WAITING_PER_CLIENT = 200;

/**
 * The clients take turns, and so do the addresses under a publishable key. Identical calls at the same time become one, whoever makes them, and answers that cannot change
 * are remembered.
 * @param rpc of the gateway alone, so that a call on which a node hangs makes no node rest for the lanes.
 * @param openMemory counts an answer on its way from a node for the first who asked for it.
 * @param charge called for each call that is made.
 */
export function createNodeReader(
  rpc: GatewayRpc,
  cache: AnswerCache,
  openMemory: (caller: Caller) => AnswerMemory,
  charge: (caller: Caller) => void,
): NodeReader {
  const queue = new WorkQueue({
    ...{ places: MAX_CONCURRENT, placesOfParty: MAX_CONCURRENT_PER_CLIENT },
    ...{ waiting: MAX_WAITING, waitingOfParty: MAX_WAITING_PER_CLIENT },
    refusal: (why) => new GatewayRefusal(RPC_CODES.limitExceeded, `too many calls at once: ${why}`),
  });
  const inFlight = new Map<string, Promise<SharedAnswer>>();
  const inTurn = <T>(caller: Caller, ask: () => Promise<T>): Promise<T> => {
    const { keyId, address } = caller;
    charge(caller);
    // Anybody can have many publishable keys and many addresses, so each bounds the other.
    const within = ["publishable keys", keyId];
    return queue.run(ask, address === undefined ? { party: keyId } : { within, party: address });
  };
  const ask = async (
    key: string,
    call: RpcCall,
    caller: Caller,
    change: ReadOptions["change"] = (answer) => answer,
  ) => {
    const reading = rpc
      .read([{ ...call, openMemory: () => openMemory(caller) }])
      .then(([outcome]) => new SharedAnswer(cache.add(key, call, change(answerOf(outcome)))));
    inFlight.set(key, reading);
    try {
      return await reading;
    } finally {
      inFlight.delete(key);
    }
  };
  const share = async (call: RpcCall, caller: Caller, { fresh = false, change }: ReadOptions = {}) => {
    const key = JSON.stringify([call.method, call.params]);
    const askAnew = () => ask(key, call, caller, change);
    if (fresh) return await inTurn(caller, askAnew);
    const known = cache.get(key);
    if (known !== undefined) return new SharedAnswer(known);
    // Joins only what has begun. A call that still waits for its turn may belong to a client that floods.
    return await join(inFlight.get(key), () => inTurn(caller, () => join(inFlight.get(key), askAnew)));
  };
  return {
    read: async (call, caller, options) => (await share(call, caller, options)).value,
    pass: async (call, caller, change) => (await share(call, caller, change && { change })).encoded,
    send: (raw, caller) =>
      inTurn(caller, async () => {
        const [outcome] = await rpc.send([{ method: "eth_sendRawTransaction", params: [raw] }]);
        return answerOf(outcome);
      }),
  };
}

/** Joins another's call. Asks anew where there is none, and where the other one had no memory for the answer. */
async function join<T>(others: Promise<T> | undefined, askAnew: () => Promise<T>): Promise<T> {
  if (others === undefined) return await askAnew();
  return await others.catch((error) => {
    if (error instanceof ProtocolError) return askAnew();
    throw error;
  });
}

/** @throws {@link GatewayRefusal}, or {@link ProtocolError} `BODIES_AT_CAPACITY` if there was no memory for the answer. */
function answerOf(outcome: RpcOutcome | undefined): unknown {
  if (outcome !== undefined && !("error" in outcome)) return outcome.result;
  const error = outcome?.error;
  if (error instanceof NodeRpcError) throw new GatewayRefusal(error.code, error.message, error.data);
  if (error?.cause instanceof ResponseTooLargeError) {
    if (error.cause.cause instanceof ProtocolError) throw error.cause.cause;
    throw new GatewayRefusal(RPC_CODES.serverError, "response too large: ask for less at once");
  }
  // The reason may name what only operators should know, such as a host.
  throw new GatewayRefusal(RPC_CODES.internalError, "the chain's node does not answer; try again");
}
