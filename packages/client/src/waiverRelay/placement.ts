import type { Counts, Entry } from "./entry.js";

/** The next wrappers to sign, in the order of their nonces. */
export interface Placement {
  readonly placed: readonly { readonly entry: Entry; readonly nonce: bigint }[];
  /** Entries whose wrapper cannot run where it stands, because the sender's earlier nonce is missing in front of it. */
  readonly withdrawn: readonly Entry[];
}

/** The most wrappers in flight. Pools bound what they keep of one sender. */
export const MAX_IN_FLIGHT = 64;

/**
 * Gives each waiver nonce from the chain's next one upwards to an entry whose turn it is: the one that has it, the first that
 * waits, or else the last one in flight, because everything above a nonce without a wrapper would wait for ever.
 * @param entries in the order in which they came.
 */
export function placementOf(entries: readonly Entry[], counts: Counts, now: number): Placement {
  const senders = new Map(counts.senders);
  const isNext = (entry: Entry) => senders.get(entry.sender) === entry.inner.nonce;
  const inFlight = entries.filter(({ wrapper }) => wrapper !== undefined && wrapper.nonce >= counts.waiver);
  const byNonce = new Map(inFlight.map((entry) => [entry.wrapper?.nonce, entry]));
  const waiting = entries.filter(({ wrapper, pausedUntil }) => wrapper === undefined && pausedUntil <= now);
  const placed: { entry: Entry; nonce: bigint }[] = [];
  const withdrawn: Entry[] = [];
  const given = new Set<Entry>();
  const topmost = inFlight.sort((a, b) => Number((b.wrapper?.nonce ?? 0n) - (a.wrapper?.nonce ?? 0n)));
  for (let nonce = counts.waiver; nonce < counts.waiver + BigInt(MAX_IN_FLIGHT); nonce++) {
    const holder = byNonce.get(nonce);
    if (holder && !given.has(holder)) {
      if (!isNext(holder)) withdrawn.push(holder);
    }
    const keeps = holder !== undefined && !given.has(holder) && isNext(holder);
    const free = (entry: Entry) => !given.has(entry) && isNext(entry);
    const last = () => topmost.find((entry) => (entry.wrapper?.nonce ?? 0n) > nonce && free(entry));
    const entry = keeps ? holder : ([...withdrawn, ...waiting].find(free) ?? last());
    if (entry === undefined) continue;
    given.add(entry);
    senders.set(entry.sender, entry.inner.nonce + 1n);
    if (!keeps) placed.push({ entry, nonce });
  }
  return { placed, withdrawn: withdrawn.filter((entry) => !given.has(entry)) };
}
