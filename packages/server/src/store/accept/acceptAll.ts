import type { Queryable, Store } from "../store.js";
import { accept } from "./accept.js";
import { acceptCapped, type CappedApplicant } from "./acceptCapped.js";
import type { Acceptance, Applicant } from "./applicant.js";
import { type Accept, groupAccepts } from "./groupAccepts.js";

type Place = Parameters<typeof accept>[1];

const isCapped = (applicant: Applicant): applicant is CappedApplicant => applicant.caps !== undefined;

/** Accepts applicants of one API key, under its daily caps if it has any. */
export function acceptOfKey(
  db: { readonly pool: Queryable },
  place: Place,
  applicants: readonly Applicant[],
): Promise<Acceptance[]> {
  const capped = applicants.filter(isCapped);
  return capped.length > 0 ? acceptCapped(db, place, capped) : accept(db, place, applicants);
}

/**
 * Makes the accept write of the service (D19). Concurrent requests share writes. Requests of a key with daily caps share
 * only with each other: they wait for the key's row on every replica, and must not make other keys wait.
 * @returns a function that takes applicants of one API key.
 */
export function createAcceptAll(store: Store, place: Place): Accept {
  const shared = groupAccepts((applicants) => accept(store, place, applicants));
  const byKey = new Map<string, Accept>();
  const ofKey = (keyId: string): Accept => {
    // One write at a time: a second one would hold a connection while it waits for the first.
    const known = byKey.get(keyId) ?? groupAccepts((all) => acceptOfKey(store, place, all), 1);
    byKey.set(keyId, known);
    return known;
  };
  return (applicants) => {
    const [first] = applicants;
    return first?.caps === undefined ? shared(applicants) : ofKey(first.keyId)(applicants);
  };
}
