import type { WaiverClient } from "@gas-waiver/client";
import { type ErrorBody, errorBodyOf, type Hex, ProtocolError } from "@gas-waiver/protocol";
import type { Abi, DecodedData } from "./abi.js";
import { conclude } from "./conclusion.js";
import { type DecodedTransaction, decodeRaw } from "./decodedTransaction.js";
import { type NodeFacts, NodeReader } from "./nodeFacts.js";
import { type ServiceFacts, ServiceReader } from "./serviceFacts.js";
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

export interface ExplainOptions {
  readonly client: WaiverClient;
  readonly url: string;
  readonly rpcUrl: string;
  /** Decodes calldata and revert data. */
  readonly abi?: Abi | undefined;
  readonly signal: AbortSignal;
}

/** Collects what service and node tell of a transaction, and concludes. It only reads. */
export async function explain(
  subject: Subject,
  { client, url, rpcUrl, abi, signal }: ExplainOptions,
): Promise<Explanation> {
  const serviceReader = new ServiceReader(client, signal);
  const nodeReader = new NodeReader(rpcUrl, signal);
  const { decoded, unreadable } = decode(subject);
  const ownHash = subject.kind === "hash" ? subject.hash : decoded?.hash;
  const name = subject.kind === "id" ? subject.id : ownHash;
  const record = name === undefined ? undefined : await serviceReader.record(name);
  const hash = record?.txHash ?? ownHash;
  const transaction = decoded ?? (hash === undefined ? undefined : await nodeReader.transaction(hash));
  const isNew = record === undefined && decoded !== undefined;
  const node = await nodeReader.facts(hash, transaction, record);
  const service = {
    url,
    ...(await serviceReader.facts(
      record,
      transaction,
      isNew && subject.kind === "raw" ? subject.raw : undefined,
    )),
  };
  const call = transaction && abi?.decode("function", transaction.data);
  const data = revertDataOf({ service, node });
  const revert = data && abi?.decode("error", data);
  const facts = { subject, transaction, unreadable, node, service, call, revert };
  return { ...facts, ...conclude(facts) };
}

function decode(subject: Subject): { decoded?: DecodedTransaction; unreadable?: ErrorBody } {
  if (subject.kind !== "raw") return {};
  try {
    return { decoded: decodeRaw(subject.raw) };
  } catch (error) {
    if (error instanceof ProtocolError) return { unreadable: errorBodyOf(error) };
    throw error;
  }
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
