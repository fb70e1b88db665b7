import { type ErrorValues, ProtocolError } from "@gas-waiver/protocol";
import type { ChainTransaction } from "../block/transaction.js";
import { EMPTY_ACCOUNT, type StateReader } from "../state/reader.js";
import { type AdmissionRules, admit, admitImpersonated, type Entry } from "./admission.js";
import type { Pool } from "./pool.js";
import { RefusedError } from "./refusedError.js";

/**
 * How a pool takes nonces.
 *
 * - `queued`, as in geth: a transaction ahead of its turn waits; one that pays more replaces another.
 * - `strict`, as on CometBFT chains: a transaction must be the very next after what waits already, for its
 *   signer and for the sender of its inner. Any other is refused at once, so nothing is ever replaced.
 *   After each block what waits is checked once more: what an eviction left behind a gap is dropped.
 */
export const POOL_KINDS = ["queued", "strict"] as const;
export type PoolKind = (typeof POOL_KINDS)[number];

/**
 * Checks signed bytes, or a transaction of an impersonated sender, and takes it into the pool.
 * @throws ProtocolError or RefusedError for the first check that fails, in the words of such pools.
 */
export async function admitTo(
  pool: Pool,
  kind: PoolKind,
  tx: Uint8Array | ChainTransaction,
  state: StateReader,
  rules: AdmissionRules,
): Promise<void> {
  try {
    const view = kind === "strict" ? afterPool(state, pool) : state;
    const nonces = kind === "strict" ? "exact" : "gaps";
    const entry =
      tx instanceof Uint8Array
        ? await admit(tx, view, nonces, rules)
        : admitImpersonated(tx, view, nonces, rules);
    addTo(pool, kind, entry, state);
  } catch (error) {
    throw reworded(error, kind);
  }
}

function addTo(pool: Pool, kind: PoolKind, entry: Entry, state: StateReader): void {
  const next = state.account(entry.signer)?.nonce ?? 0n;
  const expected = pool.nextNonce(entry.signer, next);
  // Two requests may have been checked against the same pool a moment ago.
  if (kind === "strict" && entry.nonce !== expected) {
    const low = entry.nonce < expected;
    const prefix = entry.kind === "wrapper" ? "WRAPPER_" : "";
    throw new RefusedError(`${prefix}NONCE_${low ? "TOO_LOW" : "GAP"}`, "nonce out of sequence", {
      nonce: entry.nonce.toString(),
      expected: expected.toString(),
    });
  }
  pool.add(entry, next);
}

/** The state as it will be when everything in the pool has run, as far as nonces go. */
function afterPool(state: StateReader, pool: Pool): StateReader {
  return {
    account(address) {
      const record = state.account(address);
      const nonce = pool.nextNonce(address, record?.nonce ?? 0n);
      if (record !== undefined) return { ...record, nonce };
      return nonce === 0n ? undefined : { ...EMPTY_ACCOUNT, nonce };
    },
    slot: (address, slot) => state.slot(address, slot),
    code: (codeHash) => state.code(codeHash),
  };
}

const NONCE_REASONS = new Set(["WRAPPER_NONCE_TOO_LOW", "WRAPPER_NONCE_GAP", "NONCE_TOO_LOW", "NONCE_GAP"]);

/** What clients read is the wording, so each kind speaks as its model does; reason and values stay. */
function reworded(error: unknown, kind: PoolKind): unknown {
  if (!(error instanceof ProtocolError || error instanceof RefusedError)) return error;
  const { reason, values } = error;
  if (!NONCE_REASONS.has(reason)) return error;
  const message = wording(kind, reason, values);
  if (message === undefined) return error;
  return error instanceof ProtocolError
    ? new ProtocolError(error.reason, message, values, { cause: error })
    : new RefusedError(reason, message, values);
}

function wording(kind: PoolKind, reason: string, { nonce, expected }: ErrorValues): string | undefined {
  if (kind === "strict") return `invalid nonce; got ${nonce}, expected ${expected}: invalid sequence`;
  // The inner's own nonce keeps its own words, or a relay would take the wrapper's for used.
  return reason === "WRAPPER_NONCE_TOO_LOW"
    ? `nonce too low: next nonce ${expected}, tx nonce ${nonce}`
    : undefined;
}
