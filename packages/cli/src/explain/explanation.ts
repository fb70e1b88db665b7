import type { ErrorBody } from "@gas-waiver/client";
import type { Hex } from "@gas-waiver/protocol";
import type { DecodedData } from "./abi.js";
import type { DecodedTransaction } from "./decodedTransaction.js";
import type { NodeFacts } from "./nodeFacts.js";
import type { ServiceFacts } from "./serviceFacts.js";
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
