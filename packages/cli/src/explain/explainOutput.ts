import type { AnySubmissionRecord, ErrorBody } from "@gas-waiver/client";
import { type DecodedData, valueText } from "./abi.js";
import type { DecodedTransaction } from "./decodedTransaction.js";
import { type Explanation, revertDataOf } from "./explanation.js";
import type { NodeFacts, TraceFrame } from "./nodeFacts.js";
import type { ServiceFacts } from "./serviceFacts.js";

/** A line with its name. One without a value is left out. */
type Row = readonly [name: string, value: string | undefined];

/** The explanation as lines for a person: the conclusion first, then the facts. */
export function explanationLines(explanation: Explanation): string[] {
  const { summary, next, transaction, call, revert, service, node } = explanation;
  return [
    summary,
    ...next.map((step) => `  → ${step}`),
    ...lines([["revert data", revertDataOf(explanation)], ...argumentRows(revert)]),
    ...(transaction
      ? ["", "transaction", ...lines([...transactionRows(transaction), ...argumentRows(call)])]
      : []),
    "",
    `service ${service.url}`,
    ...lines(serviceRows(service, transaction)),
    "",
    `node ${node.url}`,
    ...lines(nodeRows(node)),
    ...(node.trace ? ["  trace", ...traceLines(node.trace)] : []),
  ];
}

function lines(rows: readonly Row[]): string[] {
  return rows.flatMap(([name, value]) => (value === undefined ? [] : `  ${name.padEnd(14)}${value}`));
}

/** The decoded call or error: its signature, then a line for each argument. */
function argumentRows(decoded: DecodedData | undefined): Row[] {
  if (decoded === undefined) return [];
  const values = decoded.arguments.map(({ name, value }): Row => ["", `${name}: ${valueText(value)}`]);
  return [["decoded", decoded.signature], ...values];
}

function transactionRows(tx: DecodedTransaction): Row[] {
  return [
    ["hash", tx.hash],
    ["from", tx.from ?? "unknown: the signature is not valid"],
    ["to", tx.to ?? "none: it would create a contract"],
    ["call", `${methodText(tx.selector)}, ${tx.dataBytes} byte(s) of calldata, value ${tx.value} wei`],
    ["nonce", tx.nonce],
    ["gas limit", `${tx.gasLimit}${tx.gasPrice === undefined ? "" : ` at price ${tx.gasPrice}`}`],
    ["chain", tx.chainId],
  ];
}

const methodText = (selector: string | undefined) =>
  selector === undefined ? "without a method" : `method ${selector}`;

function serviceRows(
  { trouble, record, unfinished = [], policy, check }: ServiceFacts,
  transaction: DecodedTransaction | undefined,
): Row[] {
  return [
    ["trouble", trouble],
    ...(record ? recordRows(record, transaction === undefined) : [["record", "this key has none"] as const]),
    ["policy", policy && policyText(policy)],
    ...unfinished.map(({ nonce, id, state }): Row => ["holds", `nonce ${nonce}, ${state}: ${id}`]),
    ["dry run", check && checkText(check)],
  ];
}

/** @param isAlone true if neither the caller nor the node has the transaction, of which the record tells parts. */
function recordRows(record: AnySubmissionRecord, isAlone: boolean): Row[] {
  const { id, certainty, sender, nonce, target, selector, error } = record;
  const call: Row[] = [
    ["sender", sender && `${sender}, nonce ${nonce}`],
    ["call", target && `${methodText(selector)}, to ${target}`],
  ];
  return [
    ["record", `${id}, ${"refused" in record ? "refused" : record.state}, certainty ${certainty}`],
    ...("refused" in record ? [["refused", record.failedAt] as const] : stepRows(record)),
    ...(isAlone ? call : []),
    ["error", error && errorText(error)],
  ];
}

function stepRows(record: Exclude<AnySubmissionRecord, { refused: true }>): Row[] {
  const { wrapperHash, waiver, waiverNonce } = record;
  return [
    ["accepted", record.acceptedAt],
    ["signed", record.signedAt],
    ["broadcast", record.broadcastAt],
    ["included", record.includedAt],
    ["final", record.finalAt],
    ["failed", record.failedAt],
    ["wrapper", wrapperHash && `${wrapperHash}, nonce ${waiverNonce} of waiver ${waiver}`],
  ];
}

const errorText = ({ reason, code, message }: ErrorBody) => `${reason ?? code}: ${message}`;

function policyText({ verdict, allowedSelectors, waivers }: NonNullable<ServiceFacts["policy"]>): string {
  if (verdict === "allowed") return `allowed; carried by ${waivers.join(", ") || "no waiver at present"}`;
  return `${verdict}; allowed for this target: ${allowedSelectors?.join(", ") || "nothing"}`;
}

function checkText(check: NonNullable<ServiceFacts["check"]>): string {
  if (!check.success) return `refused: ${errorText(check.error)}`;
  const { simulation } = check;
  if (simulation === undefined) return "would be accepted";
  return `would be accepted; the call ${simulation.success ? "works" : `fails: ${simulation.message}`}`;
}

function nodeRows(node: NodeFacts): Row[] {
  const { chainId, sender, place, failure } = node;
  const outcome = node.reverted ? `reverted: ${failure?.message ?? "the node does not tell why"}` : "worked";
  return [
    ["trouble", node.trouble],
    ["chain", chainId && `${chainId}, block ${node.head}`],
    ["sender", sender && `next nonce ${sender.nextNonce}, balance ${sender.balance} wei`],
    ["target", node.targetHasCode === false ? "has no code: calls of it do nothing" : undefined],
    ["transaction", place === "in a block" ? `in block ${node.blockNumber}, ${outcome}` : place],
    ["gas used", node.gasUsed],
    ["wrapper", node.wrapper?.place],
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
