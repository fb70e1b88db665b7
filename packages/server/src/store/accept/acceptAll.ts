import type { Queryable, Store } from "../store.js";
import { type AcceptPlace, accept } from "./accept.js";
import { acceptCapped, type CappedSubmission } from "./acceptCapped.js";
import { type Accept, type AcceptWrite, groupAccepts } from "./groupAccepts.js";
import type { Acceptance, NewSubmission } from "./newSubmission.js";

/** For one key with caps: a second write would hold a connection while it waits for the first. */
const ONE_WRITE = { writes: 1, writesOfKey: 1 };

const isCapped = (newSubmission: NewSubmission): newSubmission is CappedSubmission =>
  newSubmission.caps !== undefined;

/** Accepts new submissions of one API key, under its daily caps if it has any. */
export function acceptOfKey(
  db: { readonly pool: Queryable },
  place: AcceptPlace,
  newSubmissions: readonly NewSubmission[],
  isRepeated?: boolean,
): Promise<Acceptance[]> {
  const capped = newSubmissions.filter(isCapped);
  return capped.length > 0
    ? acceptCapped(db, place, capped, isRepeated)
    : accept(db, place, newSubmissions, isRepeated);
}

/** Accepts new submissions in another way, or answers undefined: then nothing of them was stored. */
type Offer = (newSubmissions: readonly NewSubmission[]) => Promise<Acceptance[] | undefined>;

/**
 * Makes the accept write of the service (D19). Concurrent requests share writes. Requests of a key with daily caps
 * share only with each other: they wait for the key's row on every replica, and must not make other keys wait.
 * @param offer is asked first for new submissions without caps.
 * @returns a function that takes new submissions of one API key.
 */
export function createAcceptAll(
  store: Store,
  place: AcceptPlace,
  offer: Offer = async () => undefined,
): Accept {
  const shared = groupAccepts((all, isRepeated) => accept(store, place, all, isRepeated));
  const writeOfKey: AcceptWrite = (all, isRepeated) => acceptOfKey(store, place, all, isRepeated);
  const byKey = new Map<string, Accept>();
  const ofKey = (keyId: string): Accept => {
    const acceptGroup = byKey.get(keyId) ?? groupAccepts(writeOfKey, ONE_WRITE);
    byKey.set(keyId, acceptGroup);
    return acceptGroup;
  };
  return async (newSubmissions) => {
    const [first] = newSubmissions;
    if (first?.caps !== undefined) return await ofKey(first.keyId)(newSubmissions);
    return (await offer(newSubmissions)) ?? (await shared(newSubmissions));
  };
}
