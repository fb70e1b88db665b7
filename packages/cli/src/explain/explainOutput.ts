import { type DecodedData, valueText } from "./abi.js";
import type { DecodedTransaction } from "./decodedTransaction.js";
import { type Explanation, revertDataOf } from "./explanation.js";
import type { NodeFacts, TraceFrame } from "./nodeFacts.js";
import type { ServiceFacts } from "./serviceFacts.js";

/** The explanation as lines for a person: the conclusion first, then the facts. */
export function explanationLines(explanation: Explanation): string[] {
  const { summary, next, transaction, call, revert, service, node } = explanation;
  return [
    summary,
    ...next.map((step) => `  → ${step}`),
    ...line("revert data", revertDataOf(explanation)),
    ...argumentLines(revert),
    ...(transaction ? ["", "transaction", ...transactionLines(transaction), ...argumentLines(call)] : []),
    "",
    `service ${service.url}`,
    ...serviceLines(service, transaction),
    "",
    `node ${node.url}`,
    ...nodeLines(node),
  ];
}

function line(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [`  ${name.padEnd(14)}${value}`];
}

/** The decoded call or error: its signature, then a line for each argument. */
function argumentLines(decoded: DecodedData | undefined): string[] {
  if (decoded === undefined) return [];
  const values = decoded.arguments.map(({ name, value }) => `${name}: ${valueText(value)}`);
  return [...line("decoded", decoded.signature), ...values.flatMap((value) => line("", value))];
}

function transactionLines(tx: DecodedTransaction): string[] {
  const call = tx.selector === undefined ? "without a method" : `method ${tx.selector}`;
  return [
    ...line("hash", tx.hash),
    ...line("from", tx.from ?? "unknown: the signature is not valid"),
    ...line("to", tx.to ?? "none: it would create a contract"),
    ...line("call", `${call}, ${tx.dataBytes} byte(s) of calldata, value ${tx.value} wei`),
    ...line("nonce", tx.nonce),
    ...line("gas limit", `${tx.gasLimit}${tx.gasPrice === undefined ? "" : ` at price ${tx.gasPrice}`}`),
    ...line("chain", tx.chainId),
  ];
}

function serviceLines(
  { trouble, record, unfinished, policy, check }: ServiceFacts,
  transaction: DecodedTransaction | undefined,
): string[] {
  return [
    ...line("trouble", trouble),
    ...(record ? recordLines(record) : line("record", "this key has none")),
    // The record alone tells these where neither the caller nor the node has the transaction.
    ...(record && !transaction ? callLines(record) : []),
    ...line("error", record?.error && errorText(record.error)),
    ...line("policy", policy && policyText(policy)),
    ...(unfinished ?? []).flatMap(({ nonce, id, state }) => line("holds", `nonce ${nonce}, ${state}: ${id}`)),
    ...line("dry run", check && checkText(check)),
  ];
}

type RecordFacts = NonNullable<ServiceFacts["record"]>;

function errorText({ reason, code, message }: NonNullable<RecordFacts["error"]>): string {
  return `${reason ?? code}: ${message}`;
}

function callLines({ sender, nonce, target, selector }: RecordFacts): string[] {
  const method = selector === undefined ? "without a method" : `method ${selector}`;
  return [
    ...line("sender", sender && `${sender}, nonce ${nonce}`),
    ...line("call", target && `${method}, to ${target}`),
  ];
}

function recordLines(record: RecordFacts): string[] {
  const { id, state, certainty } = record;
  if ("refused" in record) {
    return [...line("record", `${id}, refused, certainty ${certainty}`), ...line("refused", record.failedAt)];
  }
  const { wrapperHash, waiver, waiverNonce } = record;
  const steps = [
    ["accepted", record.acceptedAt],
    ["signed", record.signedAt],
    ["broadcast", record.broadcastAt],
    ["included", record.includedAt],
    ["final", record.finalAt],
    ["failed", record.failedAt],
  ] as const;
  return [
    ...line("record", `${id}, ${state}, certainty ${certainty}`),
    ...steps.flatMap(([step, time]) => line(step, time)),
    ...line("wrapper", wrapperHash && `${wrapperHash}, nonce ${waiverNonce} of waiver ${waiver}`),
  ];
}

function policyText({ verdict, allowedSelectors, waivers }: NonNullable<ServiceFacts["policy"]>): string {
  if (verdict === "allowed") return `allowed; carried by ${waivers.join(", ") || "no waiver at present"}`;
  const allowed = allowedSelectors?.join(", ") || "nothing";
  return `${verdict}; allowed for this target: ${allowed}`;
}

function checkText(check: NonNullable<ServiceFacts["check"]>): string {
  if (!check.success) return `refused: ${check.error.reason ?? check.error.code}: ${check.error.message}`;
  const { simulation } = check;
  if (simulation === undefined) return "would be accepted";
  return `would be accepted; the call ${simulation.success ? "works" : `fails: ${simulation.message}`}`;
}

function nodeLines(node: NodeFacts): string[] {
  const { trouble, chainId, head, sender, place, blockNumber, reverted, gasUsed, failure, wrapper } = node;
  const outcome = reverted ? `reverted: ${failure?.message ?? "the node does not tell why"}` : "worked";
  return [
    ...line("trouble", trouble),
    ...line("chain", chainId && `${chainId}, block ${head}`),
    ...line("sender", sender && `next nonce ${sender.nextNonce}, balance ${sender.balance} wei`),
    ...line("target", node.targetHasCode === false ? "has no code: calls of it do nothing" : undefined),
    ...line("transaction", place === "in a block" ? `in block ${blockNumber}, ${outcome}` : place),
    ...line("gas used", gasUsed),
    ...line("wrapper", wrapper && `${wrapper.place}`),
    ...(node.trace ? ["  trace", ...traceLines(node.trace)] : []),
  ];
}

/** Deeper calls are left out; `--json` has them all. */
const MAX_DEPTH = 8;

function traceLines({ type, to, input, error, calls = [] }: TraceFrame, depth = 0): string[] {
  const indent = "  ".repeat(depth + 2);
  const failed = error === undefined ? "" : `  ✗ ${error}`;
  const own = `${indent}${type} ${to ?? ""} ${input?.slice(0, 10) ?? ""}${failed}`;
  return [own, ...(depth < MAX_DEPTH ? calls.flatMap((call) => traceLines(call, depth + 1)) : [])];
}
