import type { Endpoint, PendingCall } from "./endpoint.js";
import {
  isUnanswered,
  noUsableNode,
  type RpcCall,
  type RpcOutcome,
  type RpcUnavailableError,
} from "./rpcOutcome.js";

/** One read of some calls, which goes from endpoint to endpoint until each call is told. */
export class Reading {
  readonly #calls: readonly RpcCall[];
  readonly #byOneNode: boolean;
  readonly #outcomes: RpcOutcome[];
  readonly #told = new Set<number>();
  readonly #untold: { readonly endpoint: Endpoint; readonly ids: readonly number[] }[] = [];
  #fewestUntold = Number.POSITIVE_INFINITY;
  /** The places of the calls to ask the next endpoint for. */
  left: readonly number[];

  /** @param byOneNode the outcomes are those of one endpoint, so that the next one is asked for all calls. */
  constructor(calls: readonly RpcCall[], byOneNode: boolean) {
    this.#calls = calls;
    this.#byOneNode = byOneNode;
    const error = noUsableNode();
    this.#outcomes = calls.map(() => ({ error }));
    this.left = calls.map((_, id) => id);
  }

  /** Takes note of an endpoint's outcomes of the calls that were left. */
  note(endpoint: Endpoint, asked: readonly PendingCall[]): void {
    const told = new Set(asked.filter((call) => this.#isTold(call)).map(({ id }) => id));
    const ids = this.left.filter((id) => !told.has(id));
    for (const id of told) this.#told.add(id);
    this.#untold.push({ endpoint, ids });
    if (!this.#byOneNode || ids.length <= this.#fewestUntold) for (const call of asked) this.#keep(call);
    this.#fewestUntold = Math.min(this.#fewestUntold, ids.length);
    if (!this.#byOneNode || ids.length === 0) this.left = ids;
    const untold = this.#methodsOf(ids);
    for (const method of this.#methodsOf(told)) if (!untold.has(method)) endpoint.methods.onServed(method);
  }

  /** Takes note of the methods that one endpoint did not serve and another did. @returns the outcomes in the calls' order. */
  end(): RpcOutcome[] {
    const now = performance.now();
    for (const { endpoint, ids } of this.#untold) {
      const toldByAnother = ids.filter((id) => this.#told.has(id));
      for (const method of this.#methodsOf(toldByAnother)) endpoint.methods.onFailed(method, now);
    }
    return this.#outcomes;
  }

  #isTold({ id, outcome }: PendingCall): boolean {
    if (outcome === undefined) return false;
    return isUnanswered(outcome) || (this.#calls[id]?.isTold?.(outcome) ?? true);
  }

  /** An answer stays where the next endpoint gives none. */
  #keep({ id, outcome, failure }: PendingCall): void {
    const isWorse = outcome === undefined && !this.#byOneNode && !isUnanswered(this.#outcomes[id]);
    if (!isWorse && (outcome ?? failure) !== undefined)
      this.#outcomes[id] = outcome ?? { error: failure as RpcUnavailableError };
  }

  #methodsOf(ids: Iterable<number>): Set<string> {
    return new Set([...ids].map((id) => this.#calls[id]?.method ?? ""));
  }
}
