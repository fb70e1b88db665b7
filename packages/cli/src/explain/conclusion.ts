import { type ErrorBody, isReason } from "@gas-waiver/protocol";
import { REASON_NOTES } from "@gas-waiver/protocol/description";
import { decodedText } from "./abi.js";
import type { Explanation } from "./explanation.js";

type Facts = Omit<Explanation, "summary" | "next">;
type Conclusion = Pick<Explanation, "summary" | "next">;

/** Draws the conclusion from the facts: one sentence, and the steps to take. */
export function conclude(facts: Facts): Conclusion {
  const { record } = facts.service;
  if (facts.unreadable) return refused("It is not a transaction that anybody can read", facts.unreadable);
  if (record) return ofRecord(facts, record);
  if (facts.node.place === "in a block") return inBlock(facts);
  if (facts.service.check) return ofCheck(facts);
  return unknown(facts);
}

type RecordOf = NonNullable<Explanation["service"]["record"]>;

function ofRecord(facts: Facts, record: RecordOf): Conclusion {
  if ("refused" in record) return refused("The service refused it, and accepted nothing", record.error);
  const name = `submission ${record.id}`;
  if (record.state === "failed" && record.error) {
    const { summary, next } = refused(`The service failed ${name}`, record.error);
    return { summary, next: [...(record.error.reason === "NONCE_GAP" ? waitsFor(facts) : []), ...next] };
  }
  if (record.state === "included") {
    if (record.reverted !== true) {
      return { summary: `It is in block ${record.blockNumber} and worked: ${name} is done.`, next: [] };
    }
    // Nodes forget old states; the record keeps the cause.
    const { cause, causeMessage } = record.error?.details ?? {};
    const { failure } = facts.node;
    return reverted(facts, record.blockNumber, causeMessage ?? failure?.message, cause ?? failure?.kind);
  }
  const behind = waitsFor(facts);
  return {
    summary: `The service has accepted ${name}, which is ${record.state}; it goes on by itself.`,
    next: [
      ...behind,
      "Wait for it: `wait` of the SDK, or this command again. Sending it again does no harm.",
    ],
  };
}

/** The earlier nonces of the sender that the service does not hold. */
function waitsFor({ transaction, service, node }: Facts): string[] {
  const next = node.sender?.nextNonce;
  const own = transaction?.nonce ?? service.record?.nonce;
  if (own === undefined || next === undefined) return [];
  const held = new Set(service.unfinished?.map(({ nonce }) => nonce));
  if (BigInt(own) <= BigInt(next) || held.has(next)) return [];
  return [`Send the sender's transaction with nonce ${next}, which the service does not have.`];
}

function inBlock(facts: Facts): Conclusion {
  const { node } = facts;
  if (node.reverted) return reverted(facts, node.blockNumber, node.failure?.message, node.failure?.kind);
  return {
    summary: `It is in block ${node.blockNumber} and worked; this key has no submission of it.`,
    next: [],
  };
}

function reverted({ revert }: Facts, block: string | undefined, cause: unknown, kind: unknown): Conclusion {
  const known = typeof cause === "string" ? cause : "the cause is not known";
  const why = revert ? decodedText(revert) : known;
  return {
    summary: `It is in block ${block}, and reverted: ${why}.`,
    next: [
      ...(kind === "custom" && !revert
        ? ["Decode the revert data with the contract's ABI: --abi FILE, or `revertOf` of the SDK."]
        : []),
      "Correct the call, then sign it with the account's next nonce: this nonce is used.",
      ...(typeof cause === "string"
        ? []
        : ["Replay it on a node with debug_traceTransaction to see the cause."]),
    ],
  };
}

function ofCheck(facts: Facts): Conclusion {
  const { check } = facts.service;
  if (check === undefined || check.success === false)
    return refused("The service does not have it, and would refuse it", check?.error);
  const { simulation } = check;
  if (simulation?.success === false) {
    return {
      summary: `The service does not have it. It would accept it, but the call would fail: ${facts.revert ? decodedText(facts.revert) : simulation.message}.`,
      next: ["Correct the call, then sign and submit it."],
    };
  }
  return {
    summary: "The service does not have it, and would accept it.",
    next: [...waitsFor(facts), "Submit it."],
  };
}

function unknown({ subject, service, node }: Facts): Conclusion {
  if (service.trouble !== undefined && node.trouble !== undefined)
    return {
      summary: "Neither the service nor the node told anything.",
      next: ["Check --url and --rpc-url."],
    };
  const place = node.place === "in the pool" ? "is in the node's pool" : "is not known to the node";
  const summary = `This key has no submission of it${subject.kind === "id" ? "" : `, and it ${place}`}.`;
  return {
    summary,
    next: [
      "Check that the API key and the network are those that it was submitted with.",
      subject.kind === "id"
        ? "A refused line has a record for a day; pass the signed transaction to this command to see the refusal again."
        : "Pass the signed transaction to this command, for a dry run.",
    ],
  };
}

function refused(start: string, error: ErrorBody | undefined): Conclusion {
  if (error === undefined) return { summary: `${start}.`, next: [] };
  const { reason, message, details } = error;
  const remedy = reason !== undefined && isReason(reason) ? REASON_NOTES[reason].remedy : undefined;
  const retry = RETRIES[String(details?.retry)];
  return {
    summary: `${start}: ${reason ?? error.code}: ${message}.`,
    next: [remedy, retry].flatMap((sentence) => sentence ?? []),
  };
}

const RETRIES: Readonly<Record<string, string>> = {
  now: "Sending it again at once helps.",
  later: "Sending it again later may help.",
  corrected: "Sending the same bytes again does not help.",
};
