import type { Endpoint, PendingCall } from "./endpoint.js";
import {
  isUnanswered,
  noUsableNode,
  type RpcCall,
  type RpcOutcome,
  type RpcUnavailableError,
} from "./rpcOutcome.js";

/**
 * Makes one read of some calls, which goes from endpoint to endpoint until each call is told.
 * @param byOneNode the outcomes are those of one endpoint, so that the next one is asked for all calls.
 */
export function createReading(calls: readonly RpcCall[], byOneNode: boolean) {
  const outcomes: (RpcOutcome | undefined)[] = calls.map(() => undefined);
  const toldByAny = new Set<number>();
  const untoldBy: { readonly endpoint: Endpoint; readonly ids: readonly number[] }[] = [];
  let fewestUntold = Number.POSITIVE_INFINITY;
  let left: readonly number[] = calls.map((_, id) => id);
  const isTold = ({ id, outcome }: PendingCall) =>
    outcome !== undefined && (isUnanswered(outcome) || (calls[id]?.isTold?.(outcome) ?? true));
  const methodsOf = (ids: Iterable<number>) => new Set([...ids].map((id) => calls[id]?.method ?? ""));
  /** An answer stays where the next endpoint gives none. */
  const keep = ({ id, outcome, failure }: PendingCall) => {
    const kept = outcomes[id];
    const isWorse = outcome === undefined && !byOneNode && kept !== undefined && !isUnanswered(kept);
    if (!isWorse && (outcome ?? failure) !== undefined)
      outcomes[id] = outcome ?? { error: failure as RpcUnavailableError };
  };
  return {
    /** The places of the calls to ask the next endpoint for. */
    get left() {
      return left;
    },
    /** Takes note of an endpoint's outcomes of the calls that were left. */
    note(endpoint: Endpoint, asked: readonly PendingCall[]): void {
      const told = new Set(asked.filter(isTold).map(({ id }) => id));
      const ids = left.filter((id) => !told.has(id));
      for (const id of told) toldByAny.add(id);
      untoldBy.push({ endpoint, ids });
      if (!byOneNode || ids.length <= fewestUntold) asked.forEach(keep);
      fewestUntold = Math.min(fewestUntold, ids.length);
      if (!byOneNode || ids.length === 0) left = ids;
      const untold = methodsOf(ids);
      for (const method of methodsOf(told)) if (!untold.has(method)) endpoint.methods.onServed(method);
    },
    /** Takes note of the methods that one endpoint did not serve and another did. @returns the outcomes in the calls' order. */
    end(): RpcOutcome[] {
      const now = performance.now();
      for (const { endpoint, ids } of untoldBy) {
        const toldByAnother = ids.filter((id) => toldByAny.has(id));
        for (const method of methodsOf(toldByAnother)) endpoint.methods.onFailed(method, now);
      }
      return outcomes.map((outcome) => outcome ?? { error: noUsableNode() });
    },
  };
}
