import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { Submission } from "../model/submission/submission.js";
import { findFinishedByHash, findIncluded, findReadableSubmissions } from "../store/accept/readAccess.js";
import type { Store } from "../store/store.js";
import { findHeldTransactions } from "../store/submissions/findHeld.js";
import { batched } from "../util/batched.js";

export type SubmissionsByHash = ReturnType<typeof createSubmissionsByHash>;

/**
 * Finds submissions by the hashes of their transactions.
 *
 * Everybody who asks shares one query of the unfinished submissions at a time: no index has their hashes, so it reads them
 * all. Those that are finished have indexes.
 * @param store over the connections for reading.
 */
export function createSubmissionsByHash(store: Store, chain: number) {
  const findHeld = batched(async (hashes: readonly Hex[]) => {
    const found = await findHeldTransactions(store, chain, [...new Set(hashes)].map(hexToBytes));
    return hashes.map((hash) => found.get(hash));
  });
  const held = (hash: Uint8Array) => findHeld(bytesToHex(hash));
  const findIds = batched(async (hashes: readonly Hex[]) => {
    const found = await findIncluded(store, chain, [...new Set(hashes)].map(hexToBytes));
    const ids = new Map(found.map(({ id, innerHash }) => [bytesToHex(innerHash), id]));
    return hashes.map((hash) => ids.get(hash));
  });
  return {
    /** Finds the transaction of an unfinished submission, of any API key. */
    held,
    /**
     * Finds the submissions that an API key may read, as {@link readable} does, but those that failed. Everybody who asks shares two
     * queries, so that a flood of questions costs no more.
     */
    async standing(keyId: string, hashes: readonly Uint8Array[]): Promise<ReadonlyMap<Hex, Submission>> {
      const idOf = async (hash: Uint8Array) => (await held(hash))?.id ?? (await findIds(bytesToHex(hash)));
      const ids = (await Promise.all(hashes.map(idOf))).flatMap((id) => id ?? []);
      const found = ids.length === 0 ? [] : await findReadableSubmissions(store, keyId, ids);
      return new Map(found.map((submission) => [bytesToHex(submission.innerHash), submission]));
    },
    /**
     * Finds the submissions that an API key may read: its own, and those that it sent after another key (D18). Of several of
     * one transaction, which failed one after the other, the newest.
     * @returns by their hashes; unknown ones are left out.
     */
    async readable(keyId: string, hashes: readonly Uint8Array[]): Promise<ReadonlyMap<Hex, Submission>> {
      const unfinished = (await Promise.all(hashes.map(held))).flatMap((one) => one?.id ?? []);
      const own = unfinished.length === 0 ? [] : await findReadableSubmissions(store, keyId, unfinished);
      const found = new Map(own.map((submission) => [bytesToHex(submission.innerHash), submission]));
      for (const innerHash of hashes) {
        if (found.has(bytesToHex(innerHash))) continue;
        // One that ended after the first query is found here.
        const finished = await findFinishedByHash(store, { chain, keyId, innerHash });
        if (finished) found.set(bytesToHex(innerHash), finished);
      }
      return found;
    },
  };
}

/** Tells the hash of a transaction from the id of a submission. */
export function isHash(name: string): boolean {
  return /^0x[0-9a-f]{64}$/i.test(name);
}
