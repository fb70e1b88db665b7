import { type ErrorValues, ProtocolError } from "@gas-waiver/protocol";
import { EMPTY_ACCOUNT, type StateReader } from "../state/reader.js";
import { type AdmissionRules, admit, type PoolEntry, type SentTransaction } from "./admission.js";
import type { PoolKind } from "./nonceRules.js";
import type { Pool } from "./pool.js";
import { RefusedError } from "./refusedError.js";

/**
 * Checks signed bytes, or a transaction of an impersonated sender, and adds it to the pool.
 * @throws ProtocolError or RefusedError for the first check that fails, with nonce errors worded as such pools do.
 */
export async function admitToPool(
  pool: Pool,
  kind: PoolKind,
  tx: SentTransaction,
  state: StateReader,
  rules: AdmissionRules,
): Promise<void> {
  try {
    const view = kind === "strict" ? stateAfterPool(state, pool) : state;
    const nonces = kind === "strict" ? "exact" : "gaps";
    addToPool(pool, kind, await admit(tx, view, nonces, rules), state);
  } catch (error) {
    throw rewordNonceError(error, kind);
  }
}

function addToPool(pool: Pool, kind: PoolKind, entry: PoolEntry, state: StateReader): void {
  const next = state.account(entry.signer)?.nonce ?? 0n;
  const expected = pool.nextNonce(entry.signer, next);
  // Two concurrent requests may have been checked against the same pool.
  if (kind === "strict" && entry.nonce !== expected) {
    const isLow = entry.nonce < expected;
    const prefix = entry.kind === "wrapper" ? "WRAPPER_" : "";
    throw new RefusedError(`${prefix}NONCE_${isLow ? "TOO_LOW" : "GAP"}`, "nonce out of sequence", {
      nonce: entry.nonce.toString(),
      expected: expected.toString(),
    });
  }
  pool.add(entry, next);
}

/** The state with the nonces that it will have after everything in the pool has run. */
function stateAfterPool(state: StateReader, pool: Pool): StateReader {
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

/** Clients match the text of nonce errors, so each kind uses the text of its model. Reason and values stay. */
function rewordNonceError(error: unknown, kind: PoolKind): unknown {
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
  // An inner's nonce error keeps its own text, or a relay would take the wrapper's nonce for used.
  return reason === "WRAPPER_NONCE_TOO_LOW"
    ? `nonce too low: next nonce ${expected}, tx nonce ${nonce}`
    : undefined;
}
