// Both lie outside of the wire, so that a client that only submits stays small. The SDK has its own copies.

/** The beginning of a publishable key (D32), which everybody may see: such a key belongs into a page, others do not. */
export const PUBLISHABLE_PREFIX = "gwp_";

/** The subprotocol of the WebSocket that the service chooses if the client offers it, beside one with a key (D32). */
export const SOCKET_PROTOCOL = "gas-waiver.v1";
