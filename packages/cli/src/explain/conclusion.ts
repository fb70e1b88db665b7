import { callFailureOf, type ErrorBody, isReason } from "@gas-waiver/protocol";
import { REASON_NOTES } from "@gas-waiver/protocol/description";
import { decodedText } from "./abi.js";
import type { Explanation, Facts } from "./explanation.js";

type Conclusion = Pick<Explanation, "summary" | "next">;

const CORRECT = "Correct the call";
const RAISE = "Raise the gas limit";

const conclusion = (summary: string, ...next: readonly string[]): Conclusion => ({ summary, next });

/** Draws the conclusion from the facts: one sentence, and the steps to take. The first one that fits holds. */
export function conclude(facts: Facts): Conclusion {
  const { unreadable, revert, service, node } = facts;
  const { record, check } = service;
  if (unreadable) return refused("It is not a transaction that anybody can read", unreadable);
  if (record && "refused" in record)
    return refused("The service refused it, and accepted nothing", record.error);
  if (record?.state === "failed" && record.error) {
    const steps = record.error.reason === "NONCE_GAP" ? missingNonce(facts) : [];
    return refused(`The service failed submission ${record.id}`, record.error, steps);
  }
  if (record ? record.state === "included" : node.place === "in a block") {
    const { blockNumber, reverted } = record ?? node;
    if (reverted) return revertedIn(blockNumber, facts);
    const rest = record ? `: submission ${record.id} is done` : "; this key has no submission of it";
    return conclusion(`It is in block ${blockNumber} and worked${rest}.`);
  }
  if (record) {
    return conclusion(
      `The service has accepted submission ${record.id}, which is ${record.state}; it goes on by itself.`,
      ...missingNonce(facts),
      "Wait for it: `wait` of the SDK, or this command again. Sending it again does no harm.",
    );
  }
  if (check?.success === false)
    return refused("The service does not have it, and would refuse it", check.error);
  if (check?.simulation?.success === false) {
    const { message } = check.simulation;
    const why = revert ? decodedText(revert) : message;
    // The answer has the node's words, and no kind of their own for want of gas.
    const step = callFailureOf({ message })?.kind === "out_of_gas" ? RAISE : CORRECT;
    return conclusion(
      `The service does not have it. It would accept it, but the call would fail: ${why}.`,
      `${step}, then sign and submit it.`,
    );
  }
  if (check)
    return conclusion(
      "The service does not have it, and would accept it.",
      ...missingNonce(facts),
      "Submit it.",
    );
  return unknown(facts);
}

function unknown({ subject, service, node }: Facts): Conclusion {
  if (service.trouble !== undefined && node.trouble !== undefined)
    return conclusion("Neither the service nor the node told anything.", "Check --url and --rpc-url.");
  const isId = subject.kind === "id";
  const place = node.place === "in the pool" ? "is in the node's pool" : "is not known to the node";
  return conclusion(
    `This key has no submission of it${isId ? "" : `, and it ${place}`}.`,
    "Check that the API key and the network are those that it was submitted with.",
    isId
      ? "A refused line has a record for a day; pass the signed transaction to this command to see the refusal again."
      : "Pass the signed transaction to this command, for a dry run.",
  );
}

/** The step that sends the sender's next transaction, where a lower nonce is missing that the service does not hold. */
function missingNonce({ transaction, service, node }: Facts): string[] {
  const next = node.sender?.nextNonce;
  const own = transaction?.nonce ?? service.record?.nonce;
  if (own === undefined || next === undefined || BigInt(own) <= BigInt(next)) return [];
  if (service.unfinished?.some(({ nonce }) => nonce === next)) return [];
  return [`Send the sender's transaction with nonce ${next}, which the service does not have.`];
}

function revertedIn(block: string | undefined, { revert, service, node }: Facts): Conclusion {
  // Nodes forget old states; the record keeps the cause.
  const { cause: kind = node.failure?.kind, causeMessage: cause = node.failure?.message } =
    service.record?.error?.details ?? {};
  const isKnown = typeof cause === "string";
  const why = revert ? decodedText(revert) : isKnown ? cause : "the cause is not known";
  const steps = [
    kind === "custom" && !revert
      ? "Decode the revert data with the contract's ABI: --abi FILE, or `revertOf` of the SDK."
      : [],
    `${kind === "out_of_gas" ? RAISE : CORRECT}, then sign it with the account's next nonce: this nonce is used.`,
    isKnown ? [] : "Replay it on a node with debug_traceTransaction to see the cause.",
  ];
  return conclusion(`It is in block ${block}, and reverted: ${why}.`, ...steps.flat());
}

/** @param first the steps before those that follow from the error. */
function refused(start: string, error: ErrorBody, first: readonly string[] = []): Conclusion {
  const { reason, code, message, details } = error;
  const remedy = reason !== undefined && isReason(reason) ? REASON_NOTES[reason].remedy : undefined;
  const steps = [remedy, RETRIES[String(details?.retry)]].flatMap((step) => step ?? []);
  return conclusion(`${start}: ${reason ?? code}: ${message}.`, ...first, ...steps);
}

const RETRIES: Readonly<Record<string, string>> = {
  now: "Sending it again at once helps.",
  later: "Sending it again later may help.",
  corrected: "Sending the same bytes again does not help.",
};
