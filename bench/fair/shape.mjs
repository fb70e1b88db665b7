// The keys and addresses of the honest parties and of the attackers.

export const HONEST_KEY = "an-honest-clients-key-5d02c8e1f7a3b946";
export const SECRET_KEYS = Array.from({ length: 4 }, (_, i) => `an-attackers-key-${i}-0b7d3f91c6e2a854`);
/** Everybody knows these. The honest wallet uses the first one. */
export const PUBLIC_KEYS = ["gwp_fair_page0", "gwp_fair_page1"];
/** Submissions a second, and calls of all wallets together. */
export const HONEST_RATE = 25;
/** The wallets have addresses of their own, as the proxy names them, and take turns. */
export const walletAddress = (i) => `198.${18 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
/** The memory of the service, beside the bodies that it may hold. */
export const MAX_RSS_MB = 900;
