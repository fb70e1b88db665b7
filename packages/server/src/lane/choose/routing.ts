import { bytesEqual, decodeInnerTx } from "@gas-waiver/protocol";
import type { PolicySource } from "../../policy/source.js";
import type { LaneDirectory } from "./directory.js";

/** The lanes that may carry a call, by the policies of their waivers. */
export interface Routing {
  /** Returns why the waiver's lane can take no work, for an operator; undefined if it can. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** Whether two waivers may carry different calls. Only then does {@link carrierOf} matter. */
  policiesDiffer(): boolean;
  /**
   * Finds the lane for an InnerTx that this waiver's lane has queued: `here` if the waiver permits it, and if none does,
   * because then the chain refuses it (D8). Otherwise another that takes work, or `later` if none does now.
   */
  carrierOf(waiver: Uint8Array, innerRaw: Uint8Array): "here" | "another" | "later";
  /** Moves what is queued in this waiver's lane and only another may carry to lanes that take work. */
  passOn(waiver: Uint8Array): Promise<void>;
  /** Whether another lane than this waiver's takes work now and may carry the InnerTx. */
  hasOtherCarrier(waiver: Uint8Array, innerRaw: Uint8Array): boolean;
  /** Whether another lane than this waiver's takes work now. */
  hasOtherLane(waiver: Uint8Array): boolean;
  /** Wakes the lanes of these waivers, on whichever replica. */
  announceWork(waivers: readonly Uint8Array[]): void;
  /** Reads the lanes now. From then on, this replica sends no new work to those that are draining. */
  refresh(): Promise<void>;
}

export interface RoutingDependencies {
  readonly policies: Pick<PolicySource, "current" | "whyUnusable">;
  readonly directory: Pick<LaneDirectory, "chooseUsable" | "lanes" | "passOn" | "refresh">;
  announceWork(waivers: readonly Uint8Array[]): void;
}

export function createRouting({ policies, directory, announceWork }: RoutingDependencies): Routing {
  const hasUsable = (waivers: readonly Uint8Array[], except: Uint8Array) =>
    directory.chooseUsable(waivers.filter((one) => !bytesEqual(one, except))) !== undefined;
  const all = () => directory.lanes.map((lane) => lane.waiver);
  return {
    whyUnusable: policies.whyUnusable,
    policiesDiffer: () => policies.current().waiversDiffer,
    carrierOf(waiver, innerRaw) {
      const { to, data } = decodeInnerTx(innerRaw);
      const permitted = to && policies.current().waiversFor(to, data);
      if (permitted === undefined || permitted.length === 0) return "here";
      if (permitted.some((one) => bytesEqual(one, waiver))) return "here";
      return directory.chooseUsable(permitted) ? "another" : "later";
    },
    hasOtherCarrier(waiver, innerRaw) {
      const { to, data } = decodeInnerTx(innerRaw);
      return hasUsable((to && policies.current().waiversFor(to, data)) ?? all(), waiver);
    },
    hasOtherLane: (waiver) => hasUsable(all(), waiver),
    passOn: directory.passOn,
    announceWork,
    refresh: directory.refresh,
  };
}
