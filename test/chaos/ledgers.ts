import { bytesToHex, type Hex, type ResultLine } from "@gas-waiver/protocol";
import { groupBy } from "../support/groupBy.js";
import type { ChainLoss } from "./chainLoss.js";
import type { KeyedRequest, Tx } from "./client.js";
import type { Execution } from "./devnetClient.js";
import { isFinalFailure } from "./load.js";
import { findNeedlessFailures } from "./needlessFailure.js";
import type { StoreLoss } from "./storeLoss.js";
import type { Row } from "./storeRows.js";

/** The three ledgers: the lines that clients received, the rows of the store, and the executions of the chain. */
export interface Ledgers {
  readonly clients: Iterable<Tx>;
  /** Requests that were sent several times with one Idempotency-Key. */
  readonly keyedRequests: readonly KeyedRequest[];
  readonly store: readonly Row[];
  readonly chain: readonly Execution[];
  /** The forgotten rows of failovers to a standby that was behind. */
  readonly loss: Pick<StoreLoss, "hasSubmission" | "hasFailure" | "hasDecision">;
  /** The final blocks that the chain has lost because it was restored. */
  readonly chainLoss: ChainLoss;
}

/**
 * The violations, whose counts must be 0.
 *
 * - `lost`: a client has a submission's id, from a success or a TIMEOUT, that the store does not have, and has not
 *   forgotten in a failover that lost commits; or the chain executed an InnerTx that the store does not have.
 * - `doubled`: the chain used an InnerTx, a sender's nonce or a waiver's nonce twice; or the store has two included
 *   submissions of one InnerTx or one sender's nonce.
 * - `unresolved`: long after all faults are undone, a submission has no final state, or a client that repeats its
 *   request has no final line; or the service's record of a submission has another state than the store.
 * - `falseSuccess`: a line says `success: true`, or the store says included, and the chain did not execute it; a line
 *   says included, and the transaction reverted; a line says `success: true` of a submission that failed later; or the
 *   store and the chain differ in whether an executed transaction reverted.
 * - `falseFailure`: the store says that a submission failed for good, and the chain executed it, without a later
 *   submission of the same bytes that did. A wrapper that the store has forgotten is no excuse. Or a line says that a
 *   submission failed for good, and the store says otherwise, unless it has forgotten this failure. Or a line says that a
 *   transaction reverted, and it did not. A line's TIMEOUT is not a failure: the work goes on.
 * - `nonceGaps`: the nonces that a sender or a waiver used are not 0, 1, 2 … in the order of the blocks; or the store
 *   has another waiver or waiver nonce of an execution than the chain. A forgotten wrapper is no excuse here either.
 * - `notReplayed`: a repeated request with an Idempotency-Key gave another id for a transaction, or another outcome.
 * - `miscounted`: the daily caps of a key count something that the chain did not execute for it, or miss something
 *   that it did.
 * - `needlessFailure`: a submission failed although nothing was wrong with it for good: the trouble was a node's, or passed
 *   (`needlessFailure.ts`).
 * - `falseStop`: a lane stopped by itself although the chain had lost none of its final blocks, or did not stop although it
 *   had.
 *
 * Where a restored chain has lost final blocks, the submissions in them stay included and their senders' later ones cannot
 * run: these, and no others, are neither unresolved nor failed needlessly nor a false success.
 */
export const VIOLATIONS = [
  "lost",
  "doubled",
  "unresolved",
  "falseSuccess",
  "falseFailure",
  "nonceGaps",
  "notReplayed",
  "miscounted",
  "needlessFailure",
  "falseStop",
] as const;
export type Violation = (typeof VIOLATIONS)[number];

/** A violation, with the evidence of the ledgers as text. */
export interface Finding {
  readonly violation: Violation;
  readonly text: string;
}

/** Compares the three ledgers. */
export function compare({ clients, keyedRequests, store, chain, loss, chainLoss }: Ledgers): Finding[] {
  const findings: Finding[] = [];
  const find = (violation: Violation, text: string) => findings.push({ violation, text });
  const rowsById = new Map(store.map((row) => [row.id, row]));
  const rowsByHash = groupBy(store, ({ inner_hash }) => bytesToHex(inner_hash));
  const ranByHash = groupBy(chain, ({ innerHash }) => innerHash);
  const context = { rowsById, rowsByHash, ranByHash, loss, chainLoss, find };
  for (const tx of clients) compareClient(tx, context);
  for (const row of store) compareRow(row, context);
  for (const request of keyedRequests) compareReplays(request, loss, find);
  for (const text of findNeedlessFailures(store, chain, chainLoss)) find("needlessFailure", text);
  for (const [hash, runs] of ranByHash) {
    if (runs.length > 1) find("doubled", `${hash} was executed ${runs.length} times: ${shortJson(runs)}`);
    if (!rowsByHash.has(hash))
      find("lost", `the store knows nothing of ${hash}, executed in ${shortJson(runs)}`);
  }
  const counted = store.filter(({ state }) => state === "included");
  for (const [place, rows] of groupBy(counted, (row) => `${bytesToHex(row.sender)}:${row.sender_nonce}`)) {
    if (rows.length > 1)
      find("doubled", `nonce ${place} is included ${rows.length} times: ${shortJson(rows)}`);
  }
  compareNonces(
    chain,
    ({ sender }) => sender,
    ({ senderNonce }) => senderNonce,
    find,
  );
  compareNonces(
    chain,
    ({ waiver }) => waiver,
    ({ waiverNonce }) => waiverNonce,
    find,
  );
  return findings;
}

interface Context {
  readonly rowsById: ReadonlyMap<string, Row>;
  readonly rowsByHash: ReadonlyMap<Hex, readonly Row[]>;
  readonly ranByHash: ReadonlyMap<Hex, readonly Execution[]>;
  readonly loss: Ledgers["loss"];
  readonly chainLoss: ChainLoss;
  find(violation: Violation, text: string): void;
}

function compareClient(tx: Tx, { rowsById, rowsByHash, ranByHash, loss, chainLoss, find }: Context): void {
  const [run] = ranByHash.get(tx.hash) ?? [];
  const rows = rowsByHash.get(tx.hash) ?? [];
  const evidence = () =>
    `${tx.hash}; lines ${shortJson(tx.received)}; store ${shortJson(rows)}; chain ${shortJson(run)}`;
  const isHopeless = run === undefined && chainLoss.hasBroken(tx.sender, tx.nonce);
  const reported = new Set<Violation>();
  const once = (violation: Violation, why: string) => {
    if (!reported.has(violation)) find(violation, `${why}: ${evidence()}`);
    reported.add(violation);
  };
  for (const { line, wait } of tx.received) {
    const row = rowsById.get(line.id);
    const isMissing = row === undefined && !loss.hasSubmission(line.id);
    if (line.success) {
      if (isMissing) once("lost", `the store has no submission ${line.id}`);
      if (isHopeless) continue;
      if (run === undefined) once("falseSuccess", "a success that was not executed");
      else if (wait === "included" && run.reverted) once("falseSuccess", "an inclusion that reverted");
      if (row?.state === "failed") once("falseSuccess", "a success of a submission that failed");
    } else if (line.error.code === "TIMEOUT" && isMissing) {
      once("lost", `the store has no submission ${line.id}`);
    } else if (line.error.reason === "REVERTED") {
      if (isHopeless) continue;
      if (run === undefined || !run.reverted) once("falseFailure", "a revert that did not happen");
    } else if (isFinalFailure(line) && row !== undefined && row.state !== "failed") {
      if (!loss.hasFailure(line.id)) once("falseFailure", "a failure of a submission that has not failed");
    }
  }
}

function compareRow(row: Row, { rowsByHash, ranByHash, chainLoss, find }: Context): void {
  const hash = bytesToHex(row.inner_hash);
  const [run] = ranByHash.get(hash) ?? [];
  const evidence = () => `${hash}; store ${shortJson(rowsByHash.get(hash))}; chain ${shortJson(run)}`;
  const isHopeless = chainLoss.hasBroken(bytesToHex(row.sender), Number(row.sender_nonce));
  if (row.state === "included") {
    if (run === undefined && chainLoss.hasExecution(hash)) return;
    if (run === undefined) find("falseSuccess", `included by the store and not executed: ${evidence()}`);
    else if (row.reverted !== run.reverted)
      find("falseSuccess", `the chain has another status: ${evidence()}`);
    else if (row.waiver_nonce === null) return;
    else if (bytesToHex(row.waiver) !== run.waiver) {
      find("nonceGaps", `another waiver carried it: ${evidence()}`);
    } else if (Number(row.waiver_nonce) !== run.waiverNonce) {
      find("nonceGaps", `it ran under another nonce of its waiver: ${evidence()}`);
    }
  } else if (row.state === "failed") {
    if (run === undefined) return;
    const carried = rowsByHash.get(hash)?.some(({ state, signings }) => state === "included" && signings > 0);
    if (!carried) find("falseFailure", `failed by the store and executed: ${evidence()}`);
  } else if (run !== undefined || !isHopeless) find("unresolved", `still ${row.state}: ${evidence()}`);
}

/**
 * Each transaction of a repeated request must have one id and one outcome. A TIMEOUT is not an outcome, and a line that
 * the store has forgotten in a failover cannot be replayed.
 */
function compareReplays({ name, lines }: KeyedRequest, loss: Ledgers["loss"], find: Context["find"]): void {
  const kept = lines.filter(({ id }) => !loss.hasDecision(id));
  for (const [index, transactionLines] of groupBy(kept, (line) => line.index)) {
    const ids = new Set(transactionLines.map(({ id }) => id));
    const outcomes = new Set(transactionLines.flatMap((line) => outcomeOf(line) ?? []));
    if (ids.size > 1 || outcomes.size > 1)
      find("notReplayed", `${name}, at ${index}: ${shortJson(transactionLines)}`);
  }
}

/** The outcome of a line. A transaction that reverts is a success for a client that waits for its broadcast. */
function outcomeOf(line: ResultLine): string | undefined {
  if (line.success || line.error.reason === "REVERTED") return "success";
  return line.error.code === "TIMEOUT" ? undefined : line.error.reason;
}

function compareNonces(
  chain: readonly Execution[],
  accountOf: (execution: Execution) => Hex,
  nonceOf: (execution: Execution) => number,
  find: Context["find"],
): void {
  for (const [account, runs] of groupBy(chain, accountOf)) {
    const nonces = runs.map(nonceOf);
    if (new Set(nonces).size < nonces.length) find("doubled", `${account} used a nonce twice: ${nonces}`);
    else if (nonces.some((nonce, i) => nonce !== i)) find("nonceGaps", `${account} used ${nonces}`);
  }
}

/** JSON with bytes as hex. */
export function shortJson(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null || !("type" in part) || part.type !== "Buffer") return part;
    return `0x${Buffer.from((part as unknown as { data: number[] }).data).toString("hex")}`;
  });
  return text ?? "nothing";
}
