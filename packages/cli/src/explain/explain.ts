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
