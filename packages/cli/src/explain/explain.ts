import type { WaiverClient } from "@gas-waiver/client";
import { type ErrorBody, errorBodyOf, ProtocolError } from "@gas-waiver/protocol";
import type { Abi } from "./abi.js";
import { conclude } from "./conclusion.js";
import { type DecodedTransaction, decodeRaw } from "./decodedTransaction.js";
import { type Explanation, revertDataOf } from "./explanation.js";
import { NodeReader } from "./nodeFacts.js";
import { ServiceReader } from "./serviceFacts.js";
import type { Subject } from "./subject.js";

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
  const service = new ServiceReader(url, client, signal);
  const node = new NodeReader(rpcUrl, signal);
  const { transaction: decoded, unreadable } = decode(subject);
  const name = subject.kind === "id" ? subject.id : (decoded?.hash ?? nameOf(subject));
  const record = name === undefined ? undefined : await service.record(name);
  const hash = record?.txHash ?? (subject.kind === "id" ? undefined : name);
  const transaction = decoded ?? (hash === undefined ? undefined : await onNode(node, hash));
  const wrapperHash = record && "wrapperHash" in record ? record.wrapperHash : undefined;
  const isDryRun = subject.kind === "raw" && record === undefined && unreadable === undefined;
  const facts = {
    subject,
    ...(transaction && { transaction }),
    ...(unreadable && { unreadable }),
    node: await node.facts({ hash, transaction, wrapperHash, sender: transaction?.from ?? record?.sender }),
    service: await service.facts(record, transaction, isDryRun ? subject.raw : undefined),
  };
  const data = revertDataOf(facts);
  const call = transaction && abi?.decode("function", transaction.data);
  const revert = data === undefined ? undefined : abi?.decode("error", data);
  const all = { ...facts, ...(call && { call }), ...(revert && { revert }) };
  return { ...all, ...conclude(all) };
}

/** A node that gives no answer is told of by its facts. */
async function onNode(node: NodeReader, hash: string): Promise<DecodedTransaction | undefined> {
  return await node.transaction(hash).catch(() => undefined);
}

function nameOf(subject: Subject): string | undefined {
  return subject.kind === "hash" ? subject.hash : undefined;
}

function decode(subject: Subject): {
  readonly transaction?: DecodedTransaction;
  readonly unreadable?: ErrorBody;
} {
  if (subject.kind !== "raw") return {};
  const decoded = decodeRaw(subject.raw);
  return decoded instanceof ProtocolError ? { unreadable: errorBodyOf(decoded) } : { transaction: decoded };
}
