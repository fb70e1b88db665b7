import { Endpoint, type PendingCall } from "./endpoint.js";
import type { EndpointHeads } from "./endpointHeads.js";
import { createPoster } from "./httpPoster.js";
import { createReading } from "./reading.js";
import { createRequestPaces, type Priority, pacedPoster, type RequestPaces } from "./requestPace.js";
import { noUsableNode, type RpcCall, type RpcOutcome, type SendOutcome } from "./rpcOutcome.js";

export {
  isObject,
  isUnanswered,
  MAX_BATCH_CALLS,
  NodeRpcError,
  nodeErrorIn,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
  reads,
  resultIn,
  resultOf,
  type SendOutcome,
} from "./rpcOutcome.js";

/** JSON-RPC to one of the chain's nodes, whichever is healthy. Requests keep within what each node takes. */
export interface Rpc {
  /**
   * Calls the first healthy node in the order of the calls, and the next nodes for those that it does not tell. For calls that
   * change nothing.
   */
  read(calls: readonly RpcCall[], options?: ReadOptions): Promise<RpcOutcome[]>;
  /**
   * Sends in order to one node, and to the next only what the first seems not to have, or fails with alone. Otherwise the
   * caller must find out whether it arrived. The same call may go in several requests, which its outcome counts. So a node that takes
   * nothing of the kind comes for a while after one that has taken it, or refused it by a rule.
   * @param first the place of the first node among those that are well; beyond the last, it begins anew. Default: 0.
   */
  send(calls: readonly RpcCall[], first?: number): Promise<SendOutcome[]>;
  /** Sends calls to the nodes that work besides the one that `send` asks first, whatever they answer. Never rejects. */
  sendToOthers(calls: readonly RpcCall[], first?: number): Promise<void>;
  /**
   * Calls each of the nodes that may be asked and do not rest, or each that may be asked if all rest, and returns the outcomes at each.
   * For calls that change nothing. A step waits for the answers, so it must not wait for a dead node each time.
   */
  readFromEach(calls: readonly RpcCall[]): Promise<RpcOutcome[][]>;
  /** Sends one call to every node, and returns the outcome at each, in their order. */
  sendToEach(call: RpcCall): Promise<SendOutcome[]>;
}

export interface ReadOptions {
  /** All outcomes are those of one node, the one that tells most: they are compared with each other. */
  readonly byOneNode?: boolean;
}

export interface RpcOptions {
  /** The nodes' URLs in the order of preference. */
  readonly rpcUrls: readonly string[];
  readonly rpcTimeoutMs: number;
  /** Aborts every call in flight. */
  readonly signal: AbortSignal;
  /** Knows which nodes are behind; without it, every node may be asked. */
  readonly heads?: EndpointHeads;
  /** Keeps requests within what each node takes. Without it, only `Retry-After` is obeyed. */
  readonly paces?: RequestPaces;
  /** Whose requests these are. Those of clients come after the service's own, which are the default. */
  readonly readPriority?: Exclude<Priority, "send">;
  /**
   * The longest answer that is read, in bytes, where callers may ask for more: a longer one is no failure of the node. By
   * default, answers may be longer than any that the service itself asks for, and a node that exceeds that has failed.
   */
  readonly maxResponseBytes?: number;
}

/** Uses the first healthy endpoint in order. An endpoint that failed rests, each time twice as long. */
export function createRpc(options: RpcOptions): Rpc {
  const mayAnswerTooLong = options.maxResponseBytes !== undefined;
  const { paces = createRequestPaces(0), readPriority = "read", rpcTimeoutMs } = options;
  const endpoints = options.rpcUrls.map((url, place) => {
    const pace = paces(url);
    const unpaced = createPoster(url, { ...options, takeTurn: () => pace.takeNow() });
    const poster = pacedPoster(unpaced, { pace, rpcTimeoutMs, readPriority });
    return new Endpoint(poster, place, { mayAnswerTooLong });
  });
  /** The endpoints that may be asked: one that is slow or rests, as a whole or for a method of the calls, comes after the others. */
  const usableInOrder = (calls: readonly RpcCall[], first = 0) => {
    const now = performance.now();
    const usable = endpoints.filter(({ place }) => options.heads?.isUsable(place) ?? true);
    const resting = usable.filter((endpoint) => rests(endpoint, now));
    const healthy = usable.filter((endpoint) => !rests(endpoint, now));
    const isWorse = ({ methods, place }: Endpoint) =>
      options.heads?.isSlow(place) === true || calls.some(({ method }) => methods.rests(method, now));
    return [
      ...startingAt(
        first,
        healthy.filter((endpoint) => !isWorse(endpoint)),
      ),
      ...healthy.filter(isWorse),
      ...resting.sort((a, b) => a.restsUntil - b.restsUntil),
    ];
  };
  return {
    read: (calls, { byOneNode = false } = {}) =>
      readFrom(usableInOrder(calls), calls, { byOneNode, signal: options.signal }),
    async send(calls, first = 0) {
      const pending = calls.map((call, id) => pendingCall(call, id, true));
      let left = pending;
      const declining: Endpoint[] = [];
      for (const endpoint of usableInOrder(calls, first)) {
        // A call that a node has answered waits for none that rests.
        const asked = rests(endpoint) ? left.filter(({ untold }) => untold === undefined) : left;
        await endpoint.ask(asked);
        for (const call of asked) putUntoldAside(call, calls[call.id]);
        noteDecline({ endpoint, asked, declining }, calls);
        left = left.filter(({ outcome }) => outcome === undefined);
        const mayGoOn = left.every(({ failure }) => !failure || failure.sent === "no" || failure.isOfCall);
        if (left.length === 0 || !mayGoOn || options.signal.aborted) break;
      }
      return pending.map((call) => ({ ...outcomeOf(call), requests: call.requests }));
    },
    async sendToOthers(calls, first = 0) {
      const [, ...others] = usableInOrder(calls, first);
      const working = others.filter((endpoint) => !rests(endpoint));
      await Promise.all(working.map((one) => one.ask(calls.map((call, id) => pendingCall(call, id, true)))));
    },
    async readFromEach(calls) {
      const usable = usableInOrder(calls);
      const working = usable.filter((endpoint) => !rests(endpoint));
      return await askEach(working.length > 0 ? working : usable, calls, false);
    },
    sendToEach: async (call) => (await askEach(endpoints, [call], true)).flat(),
  };
}

const rests = ({ restsUntil }: Endpoint, now = performance.now()) => restsUntil > now;

/** Asks one endpoint after the other. What has timed out at one goes in smaller requests to the next. */
async function readFrom(
  endpoints: readonly Endpoint[],
  calls: readonly RpcCall[],
  { byOneNode, signal }: Required<ReadOptions> & Pick<RpcOptions, "signal">,
): Promise<RpcOutcome[]> {
  const reading = createReading(calls, byOneNode);
  const most = new Map<number, number | undefined>();
  for (const endpoint of endpoints) {
    const asked = reading.left.map((id) => ({
      ...pendingCall(calls[id] as RpcCall, id, false),
      most: most.get(id),
    }));
    await endpoint.ask(asked, !byOneNode);
    for (const call of asked) most.set(call.id, call.most);
    reading.note(endpoint, asked);
    if (reading.left.length === 0 || signal.aborted) break;
  }
  return reading.end();
}

/** Puts an answer aside that does not tell what was asked: another node may serve the call. It stays where none does. */
function putUntoldAside(pending: PendingCall, call: RpcCall | undefined): void {
  const { outcome } = pending;
  if (outcome === undefined || call?.isTold?.(outcome) !== false) return;
  pending.untold = outcome;
  pending.outcome = undefined;
}

function startingAt<T>(place: number, all: readonly T[]): readonly T[] {
  const first = all.length === 0 ? 0 : place % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

interface Declines {
  readonly endpoint: Endpoint;
  readonly asked: readonly PendingCall[];
  /** The endpoints that have declined the calls, and were asked before. */
  readonly declining: Endpoint[];
}

/** Takes note of an endpoint that declines, which counts once another one takes a call, or refuses it by a rule. */
function noteDecline({ endpoint, asked, declining }: Declines, calls: readonly RpcCall[]): void {
  const isTold = asked.some(({ outcome }) => outcome !== undefined);
  if (isTold)
    for (const { methods } of declining.splice(0))
      methods.onDeclined(calls[0]?.method ?? "", performance.now());
  else if (asked.some(({ id, untold }) => untold && calls[id]?.isDeclined?.(untold)))
    declining.push(endpoint);
}

function askEach(
  endpoints: readonly Endpoint[],
  calls: readonly RpcCall[],
  isSend: boolean,
): Promise<SendOutcome[][]> {
  const asked = endpoints.map(async (endpoint) => {
    const pending = calls.map((call, id) => pendingCall(call, id, isSend));
    await endpoint.ask(pending);
    return pending.map((one) => ({ ...outcomeOf(one), requests: one.requests }));
  });
  return Promise.all(asked);
}

function pendingCall({ method, params, openMemory }: RpcCall, id: number, isSend: boolean): PendingCall {
  const name = JSON.stringify({ method, params }).slice(1);
  const text = `{"jsonrpc":"2.0","id":${id},${name}`;
  return { id, name, text, isSend, openMemory, outcome: undefined, failure: undefined, requests: 0 };
}

function outcomeOf({ outcome, untold, failure }: PendingCall): RpcOutcome {
  return outcome ?? untold ?? { error: failure ?? noUsableNode() };
}
