import type { AnySubmissionRecord, CheckLine, ErrorBody, SubmissionRecord } from "@gas-waiver/client";
import type { CallFailure, Hex } from "@gas-waiver/protocol";
import type { DecodedData } from "./abi.js";
import type { DecodedTransaction } from "./decodedTransaction.js";
import type { TraceFrame } from "./nodeFacts.js";
import type { Subject } from "./subject.js";

/** Everything that service and node tell of one transaction. A part that nobody could tell is absent. */
export interface Explanation {
  readonly subject: Subject;
  readonly transaction?: DecodedTransaction;
  /** The call and the contract's own error, as far as the given ABIs know them. */
  readonly call?: DecodedData;
  readonly revert?: DecodedData;
  /** The decoder's refusal, for bytes that are no transaction. */
  readonly unreadable?: ErrorBody;
  readonly service: ServiceFacts;
  readonly node: NodeFacts;
  /** The conclusion in a sentence, and the steps to take. */
  readonly summary: string;
  readonly next: readonly string[];
}

export interface ServiceFacts {
  readonly url: string;
  /** Why the service told nothing, or not everything. */
  readonly trouble?: string;
  readonly record?: AnySubmissionRecord;
  /** The submissions of the same sender that are not finished, lowest nonce first. */
  readonly unfinished?: readonly Pick<SubmissionRecord, "id" | "nonce" | "state">[];
  readonly policy?: PolicyVerdict;
  /** The dry run of the signed bytes, with a simulation. */
  readonly check?: CheckLine;
}

/** The answer of the key's policy to the call. */
export interface PolicyVerdict {
  readonly verdict: "allowed" | "target not allowed" | "selector not allowed";
  /** The methods that may be called on this target; absent if any may. */
  readonly allowedSelectors?: readonly string[];
  /** The waivers that may carry the call. */
  readonly waivers: readonly string[];
}

export interface NodeFacts {
  readonly url: string;
  readonly trouble?: string;
  readonly chainId?: string;
  readonly head?: string;
  readonly sender?: {
    /** The next nonce by the latest block. */
    readonly nextNonce: string;
    /** In wei. */
    readonly balance: string;
  };
  /** The contract has code. */
  readonly targetHasCode?: boolean;
  /** The transaction's block, or where else the node has it. */
  readonly place?: "in a block" | "in the pool" | "unknown";
  readonly blockNumber?: string;
  readonly reverted?: boolean;
  readonly gasUsed?: string;
  /** The calls of a reverted transaction, where the node traces. */
  readonly trace?: TraceFrame;
  /** Why it reverted, by the trace or by a call on the block before. */
  readonly failure?: CallFailure;
  readonly wrapper?: { readonly hash: Hex; readonly place: "in a block" | "in the pool" | "unknown" };
}

/** Returns the data of a contract's own error: of the record, because nodes forget old states, of the node, or of the dry run. */
export function revertDataOf({ service, node }: Pick<Explanation, "service" | "node">): Hex | undefined {
  const { record, check } = service;
  const kept = record?.error?.details?.revertData;
  if (typeof kept === "string" && kept.startsWith("0x")) return kept as Hex;
  const simulation = check?.success ? check.simulation : undefined;
  return (
    node.failure?.data ?? (simulation?.success === false ? (simulation.data as Hex | undefined) : undefined)
  );
}
