import type { ChainView } from "./chainView.js";
import type { Call, Exchange, HttpReply, Reply } from "./exchange.js";
import type { Limits } from "./personality.js";

/** A strike at a whole exchange. `before`: the node never sees its calls. `after`: it makes them all first. */
export interface ExchangeStrike {
  readonly when: "before" | "after";
  /** `drop` closes the connection without an answer, and `hang` never answers. */
  readonly how: "drop" | "hang" | HttpReply;
}

/** A strike at one call. */
export interface CallStrike {
  readonly when: "before" | "after";
  readonly reply: Reply;
}

/** The circumstances of a node at the moment of a request. */
export interface NodeMoment {
  /** The chain's head. */
  readonly head: number;
  /** The time at which the block was first seen, in ms; undefined for a block that has not been seen. */
  seenAt(block: number): number | undefined;
}

/** A fault of a node, as decisions about its requests and answers. Each member is optional. */
export interface NodeFault {
  /** Limits in place of the personality's own. */
  readonly limits?: Limits;
  strikeExchange?(exchange: Exchange): ExchangeStrike | undefined;
  strikeCall?(call: Call): CallStrike | undefined;
  /** The view through which the call at this place of its exchange is answered. */
  viewFor?(moment: NodeMoment, place: number, exchange: Exchange): ChainView | undefined;
  /** Changes an answer of the node. */
  change?(call: Call, reply: Reply): Reply;
  /** The delay of an exchange, in ms. */
  delayMs?(exchange: Exchange): number;
}

/** Joins faults: the first one that strikes counts, and the last one that sets a limit. */
export function joinFaults(faults: readonly NodeFault[]): NodeFault {
  const first = <T>(pick: (fault: NodeFault) => T | undefined): T | undefined => {
    for (const fault of faults) {
      const picked = pick(fault);
      if (picked !== undefined) return picked;
    }
    return undefined;
  };
  return {
    limits: Object.assign({}, ...faults.map(({ limits }) => limits)) as Limits,
    strikeExchange: (exchange) => first((fault) => fault.strikeExchange?.(exchange)),
    strikeCall: (call) => first((fault) => fault.strikeCall?.(call)),
    viewFor: (moment, place, exchange) => first((fault) => fault.viewFor?.(moment, place, exchange)),
    change: (call, reply) =>
      faults.reduce((changed, fault) => fault.change?.(call, changed) ?? changed, reply),
    delayMs: (exchange) => Math.max(0, ...faults.map((fault) => fault.delayMs?.(exchange) ?? 0)),
  };
}
