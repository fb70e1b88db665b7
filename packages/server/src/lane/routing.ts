import { bytesEqual, decodeInnerTx } from "@gas-waiver/protocol";
import type { PolicySource } from "../policy/source.js";
import type { LaneDirectory } from "./directory.js";

/** Where the policies of the waivers let a call go. */
export interface Routing {
  /** Why the waiver's lane can take no work, for a person; undefined if it can. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** May two waivers carry different calls? Only then is anything below a question. */
  policiesDiffer(): boolean;
  /**
   * Where an InnerTx belongs that this waiver's lane has queued. `here` if the waiver permits it, and if none does:
   * then the chain refuses it (D8). Otherwise the waiver of a lane that takes work, or `later` if none does now.
   */
  carrierOf(waiver: Uint8Array, innerRaw: Uint8Array): "here" | "later" | Uint8Array;
  /** Work came to the lanes of these waivers. */
  announceWork(waivers: readonly Uint8Array[]): void;
}

export interface RoutingDependencies {
  readonly policies: Pick<PolicySource, "current" | "whyUnusable">;
  /** It is there by the time that anything is asked. */
  board(): Pick<LaneDirectory, "chooseUsable">;
  announceWork(waivers: readonly Uint8Array[]): void;
}

export function createRouting({ policies, board, announceWork }: RoutingDependencies): Routing {
  return {
    whyUnusable: policies.whyUnusable,
    policiesDiffer: () => policies.current().waiversDiffer,
    carrierOf(waiver, innerRaw) {
      const { to, data } = decodeInnerTx(innerRaw);
      const permitted = to && policies.current().waiversFor(to, data);
      if (permitted === undefined || permitted.length === 0) return "here";
      if (permitted.some((one) => bytesEqual(one, waiver))) return "here";
      return board().chooseUsable(permitted) ?? "later";
    },
    announceWork,
  };
}
