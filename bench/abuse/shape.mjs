// The API keys of the good client and of the attacker.

export const CLIENT_KEY = "a-good-clients-key-7d91c0a4e6b2f835";
export const ATTACKERS_KEY = "an-attackers-key-2c85f1e7b0d3946a";

/** The keys of the kinds of requests that `one-connection` sends. */
export const KIND_KEYS = Array.from({ length: 22 }, (_, i) => `a-key-of-kind-${i}-9c04e7d1b8f2a356`);
