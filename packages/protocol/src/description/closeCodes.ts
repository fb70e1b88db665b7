import type { CLOSE_CODES } from "../wire/socket.js";

/** Why the service closes a WebSocket, and what to do (D23). */
export const CLOSE_NOTES: Readonly<
  Record<keyof typeof CLOSE_CODES, { readonly why: string; readonly remedy: string }>
> = {
  keyRevoked: {
    why: "The API key was revoked or disabled, has expired, or its secret was replaced.",
    remedy: "Use another.",
  },
  frameTooLarge: {
    why: "A frame was larger than a request's body may be.",
    remedy: "Send smaller batches.",
  },
  shuttingDown: {
    why: "The service is shutting down; lines that waited were answered before, with `TIMEOUT`.",
    remedy: "Connect again, and `watch`.",
  },
};
