import { Endpoint, type PendingCall } from "./endpoint.js";
import type { EndpointHeads } from "./endpointHeads.js";
import { createPoster } from "./httpPoster.js";
import { type RpcCall, type RpcOutcome, RpcUnavailableError, type SendOutcome } from "./rpcOutcome.js";

export {
  isObject,
  isUnanswered,
  MAX_BATCH_CALLS,
  NodeRpcError,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
  resultOf,
  type SendOutcome,
} from "./rpcOutcome.js";

/** JSON-RPC to one of the chain's nodes, whichever is healthy. Requests keep within what each node takes. */
export interface Rpc {
  /**
   * Calls the first healthy node in the order of the calls, and the next nodes for those without an answer. For calls that
   * change nothing.
   */
  read(calls: readonly RpcCall[]): Promise<RpcOutcome[]>;
  /**
   * Sends in order to one node, and to the next only what the first seems not to have, or fails with alone. Otherwise the
   * caller must find out whether it arrived. The same call may go in several requests, which its outcome counts.
   */
  send(calls: readonly RpcCall[]): Promise<SendOutcome[]>;
  /** Sends one call to every node, and returns the outcome at each, in their order. */
  sendToEach(call: RpcCall): Promise<SendOutcome[]>;
  /** Tells of each node whether it answered its last request. */
  health(): readonly { readonly url: string; readonly healthy: boolean }[];
}

export interface RpcOptions {
  /** The nodes' URLs in the order of preference. */
  readonly rpcUrls: readonly string[];
  readonly rpcTimeoutMs: number;
  /** Aborts every call in flight. */
  readonly signal: AbortSignal;
  /** Knows which nodes are behind; without it, every node may be asked. */
  readonly heads?: EndpointHeads;
  /**
   * The longest answer that is read, in bytes, where callers may ask for more: a longer one is no failure of the node. By
   * default, answers may be longer than any that the service itself asks for, and a node that exceeds that has failed.
   */
  readonly maxResponseBytes?: number;
}

/** Uses the first healthy endpoint in order. An endpoint that failed rests, each time twice as long. */
export function createRpc(options: RpcOptions): Rpc {
  const mayAnswerTooLong = options.maxResponseBytes !== undefined;
  const endpoints = options.rpcUrls.map(
    (url, place) => new Endpoint(createPoster(url, options), place, { mayAnswerTooLong }),
  );
  const usableInOrder = () => {
    const now = performance.now();
    const usable = endpoints.filter(({ place }) => options.heads?.isUsable(place) ?? true);
    const healthy = usable.filter(({ restsUntil }) => restsUntil <= now);
    const resting = usable.filter(({ restsUntil }) => restsUntil > now);
    return [...healthy, ...resting.sort((a, b) => a.restsUntil - b.restsUntil)];
  };
  const ask = async (
    calls: readonly PendingCall[],
    mayTryNext: (failure: RpcUnavailableError) => boolean,
  ) => {
    let left = calls;
    for (const endpoint of usableInOrder()) {
      await endpoint.ask(left);
      left = left.filter(({ outcome }) => outcome === undefined);
      const mayGoOn = left.every(({ failure }) => failure === undefined || mayTryNext(failure));
      if (left.length === 0 || !mayGoOn || options.signal.aborted) return;
    }
  };
  return {
    async read(calls) {
      const pending = calls.map((call, id) => pendingCall(call, id, false));
      await ask(pending, () => true);
      return pending.map(outcomeOf);
    },
    async send(calls) {
      const pending = calls.map((call, id) => pendingCall(call, id, true));
      await ask(pending, ({ sent, isOfCall }) => sent === "no" || isOfCall);
      return pending.map((call) => ({ ...outcomeOf(call), requests: call.requests }));
    },
    sendToEach: (call) =>
      Promise.all(
        endpoints.map(async (endpoint) => {
          const pending = pendingCall(call, 0, true);
          await endpoint.ask([pending]);
          return { ...outcomeOf(pending), requests: pending.requests };
        }),
      ),
    health: () => endpoints.map(({ poster, isHealthy }) => ({ url: poster.url, healthy: isHealthy })),
  };
}

function pendingCall(call: RpcCall, id: number, isSend: boolean): PendingCall {
  const name = JSON.stringify(call).slice(1);
  const text = `{"jsonrpc":"2.0","id":${id},${name}`;
  return { id, name, text, isSend, outcome: undefined, failure: undefined, requests: 0 };
}

function outcomeOf({ outcome, failure }: PendingCall): RpcOutcome {
  return (
    outcome ?? {
      error: failure ?? new RpcUnavailableError("every node is behind, or on another chain", "no"),
    }
  );
}
