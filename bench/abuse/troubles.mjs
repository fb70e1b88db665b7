import { signed } from "../signed.mjs";

/** The ends of the calldata of transactions that the node refuses by an error of its own, and by status 413. */
export const UNKNOWN_ERROR = "5ca1ab1e";
export const TOO_LARGE = "0b57ac1e";

const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/**
 * The troubles by name. `transactionsOf` returns the transactions of one round; `first` is the number of a user who has sent
 * nothing before. With `intervalMs`, a round follows every so many milliseconds; without it there is one round.
 * `isOtherKey`: the transactions come by another API key than the client's.
 */
export const TROUBLES = {
  "missing-nonce": {
    description: "the same key: 600 transactions of one sender that wait for a missing nonce",
    transactionsOf: (first) => many(600, (i) => signed(first, { nonce: 1 + i })),
  },
  "missing-nonces": {
    description: "the same key: 600 senders, each with one transaction that waits for a missing nonce",
    transactionsOf: (first) => many(600, (i) => signed(first + i, { nonce: 1 })),
  },
  "long-sender": {
    description: "the same key: 4,500 transactions of one sender",
    transactionsOf: (first) => many(4_500, (i) => signed(first, { nonce: i })),
  },
  "long-sender-elsewhere": {
    description: "another key: 4,500 transactions of one sender",
    isOtherKey: true,
    transactionsOf: (first) => many(4_500, (i) => signed(first, { nonce: i })),
  },
  "bad-lines": {
    description: "another key: requests of 100 lines of which half do not decode",
    isOtherKey: true,
    intervalMs: 200,
    transactionsOf: (first) => many(100, (i) => (i % 2 === 0 ? "0x00" : signed(first + i))),
  },
  "full-key": {
    description: "another key: 4,500 senders, where a key may have 5,000 transactions queued",
    isOtherKey: true,
    transactionsOf: (first) => many(4_500, (i) => signed(first + i)),
  },
  "unknown-error": {
    description: "another key: 20 transactions a second that the node answers with an unknown error",
    isOtherKey: true,
    intervalMs: 1_000,
    transactionsOf: (first) => many(20, (i) => signed(first + i, { end: UNKNOWN_ERROR })),
  },
  "too-large": {
    description: "another key: 20 transactions a second whose requests a proxy answers with 413",
    isOtherKey: true,
    intervalMs: 1_000,
    transactionsOf: (first) => many(20, (i) => signed(first + i, { end: TOO_LARGE })),
  },
  stuck: {
    description: "another key: a single transaction that the node answers with an unknown error",
    isOtherKey: true,
    transactionsOf: (first) => [signed(first, { end: UNKNOWN_ERROR })],
  },
};
