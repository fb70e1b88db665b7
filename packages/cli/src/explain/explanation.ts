import type { ErrorBody, Hex } from "@gas-waiver/protocol";
import type { DecodedData } from "./abi.js";
import type { DecodedTransaction } from "./decodedTransaction.js";
import type { NodeFacts } from "./nodeFacts.js";
import type { ServiceFacts } from "./serviceFacts.js";
import type { Subject } from "./subject.js";

/** Everything that service and node tell of one transaction. A part that nobody could tell is undefined. */
export interface Facts {
  readonly subject: Subject;
  readonly transaction: DecodedTransaction | undefined;
  /** The decoder's refusal, for bytes that are no transaction. */
  readonly unreadable: ErrorBody | undefined;
  readonly node: NodeFacts;
  readonly service: ServiceFacts;
  /** The call and the contract's own error, as far as the given ABIs know them. */
  readonly call: DecodedData | undefined;
  readonly revert: DecodedData | undefined;
}

/** The facts with the conclusion in a sentence, and the steps to take. */
export interface Explanation extends Facts {
  readonly summary: string;
  readonly next: readonly string[];
}

/** Returns the data of a contract's own error: of the record, because nodes forget old states, of the node, or of the dry run. */
export function revertDataOf({ service, node }: Pick<Facts, "service" | "node">): Hex | undefined {
  const { record, check } = service;
  const kept = record?.error?.details?.revertData;
  if (typeof kept === "string" && kept.startsWith("0x")) return kept as Hex;
  const simulation = check?.success ? check.simulation : undefined;
  return (
    node.failure?.data ?? (simulation?.success === false ? (simulation.data as Hex | undefined) : undefined)
  );
}
