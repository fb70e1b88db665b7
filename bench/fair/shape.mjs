// The keys and addresses of the honest parties and of the attackers.

export const HONEST_KEY = "an-honest-clients-key-5d02c8e1f7a3b946";
export const SECRET_KEYS = Array.from({ length: 4 }, (_, i) => `an-attackers-key-${i}-0b7d3f91c6e2a854`);
/** Everybody knows these. The honest wallet uses the first one. */
export const PUBLIC_KEYS = ["gwp_fair_page0", "gwp_fair_page1"];
/** Honest wallets: each asks once a second, from an address of its own, as the proxy names it. */
export const HONEST_WALLETS = 25;
export const walletAddress = (i) => `198.51.100.${1 + (i % HONEST_WALLETS)}`;
/** The memory of the service, beside the bodies that it may hold. */
export const MAX_RSS_MB = 900;
