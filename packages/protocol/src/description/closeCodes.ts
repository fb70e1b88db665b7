import type { CLOSE_CODES } from "../wire/socket.js";

/** Why the service closes a WebSocket, and what to do (D23). */
export const CLOSE_NOTES: Readonly<
  Record<keyof typeof CLOSE_CODES, { readonly why: string; readonly remedy: string }>
> = {
  policyViolation: {
    why: "The API key was revoked or disabled, has expired, or its secret was replaced; or the client sent a frame in too many pieces, too slowly, or a flood of pings. The close reason says which.",
    remedy: "Use another key, or a client that sends whole frames.",
  },
  messageTooBig: {
    why: "A frame was larger than a request's body may be.",
    remedy: "Send smaller batches.",
  },
  serviceRestart: {
    why: "The service is shutting down; lines that waited were answered before, with `TIMEOUT`.",
    remedy: "Connect again, and `watch`.",
  },
  tryAgainLater: {
    why: "A frame found no room: the service, or this key, holds as many bytes of bodies and frames as it may.",
    remedy: "Connect again later, and send the frame again.",
  },
};
