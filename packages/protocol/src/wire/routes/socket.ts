import { define } from "../../define.js";
import clientFrame, { SUBMIT_FRAME_SCHEMA, WATCH_FRAME_SCHEMA } from "../clientFrame.js";
import type { Schema } from "../schema.js";
import serverFrame, { DONE_FRAME_SCHEMA, ERROR_FRAME_SCHEMA, LINE_FRAME_SCHEMA } from "../serverFrame.js";
import { defineRoute, type Route } from "./routeDefinition.js";

/** The WebSocket: an upgrade of HTTP/1.1 (D23). It carries a `ClientFrame` one way and a `ServerFrame` the other. */
export const SOCKET_ROUTE = {
  method: "GET",
  path: "/v1/submit",
  authenticated: true,
} as const satisfies Route;

/** The close codes that the service sends (D23), by their names in the IANA registry. */
export const CLOSE_CODES = {
  /** The API key is no longer good, or the client misused the connection. The close reason says which. */
  policyViolation: 1008,
  /** The frame is larger than a request's body may be (D22). */
  messageTooBig: 1009,
  /** The service is shutting down. Another replica, or the restarted one, takes the connection. */
  serviceRestart: 1012,
  /** The service has no memory to spare for the frame. */
  tryAgainLater: 1013,
} as const;

/** The cause of each close code and its remedy (D23). */
const CLOSE_NOTES: Readonly<
  Record<keyof typeof CLOSE_CODES, { readonly cause: string; readonly remedy: string }>
> = /* @__PURE__ */ define(() => ({
  policyViolation: {
    cause:
      "The API key was revoked or disabled, has expired, or had its secret replaced; or the client sent a frame in too many pieces, a frame too slowly, or a flood of pings. The close reason says which.",
    remedy: "Use another key, or a client that sends whole frames.",
  },
  messageTooBig: {
    cause: "A frame is larger than a request's body may be.",
    remedy: "Send smaller batches.",
  },
  serviceRestart: {
    cause: "The service is shutting down. It has ended the waiting lines with `TIMEOUT`.",
    remedy: "Connect again, and `watch`.",
  },
  tryAgainLater: {
    cause:
      "The service has no room for a frame: it holds as many bytes of bodies and frames as it may, in all or for this key.",
    remedy: "Connect again later, and send the frame again.",
  },
}));

/** A frame as the descriptions present it. */
export interface FrameDescription {
  readonly title: string;
  readonly from: "client" | "service";
  readonly schema: Schema;
}

/** The frames of the WebSocket (D23), by their names in the AsyncAPI document. */
const FRAMES = /* @__PURE__ */ defineFrames(() => ({
  submit: { title: "Submit transactions", from: "client", schema: SUBMIT_FRAME_SCHEMA },
  watch: { title: "Watch earlier submissions", from: "client", schema: WATCH_FRAME_SCHEMA },
  line: { title: "A result line", from: "service", schema: LINE_FRAME_SCHEMA },
  done: { title: "The end of a request", from: "service", schema: DONE_FRAME_SCHEMA },
  error: { title: "The refusal of a request as a whole", from: "service", schema: ERROR_FRAME_SCHEMA },
}));

function defineFrames<Name extends string>(
  make: () => Readonly<Record<Name, FrameDescription>>,
): Readonly<Record<Name, FrameDescription>> {
  return make();
}

const DEFINITION = /* @__PURE__ */ defineRoute(() => ({
  summary: "Submit and watch over a WebSocket",
  text: [
    "The upgrade of HTTP/1.1 to a WebSocket, for any number of requests over one connection, and `watch` for a client that comes back. The API key is in the header of the handshake. The AsyncAPI document has the frames, examples and close codes.",
  ],
  responses: {
    101: { description: "The connection is a WebSocket from here on.", headers: ["Upgrade"] },
  },
  refusals: ["UPGRADE_REQUIRED", "SOCKETS_AT_CAPACITY", "SHUTTING_DOWN"],
  curl: `# curl does not send WebSocket frames; websocat does:
websocat -H "Authorization: Bearer $API_KEY" "ws://\${URL#http://}/v1/submit"
{"id": 1, "transactions": ["0x…"]}`,
  sdk: `const socket = connect({ url, apiKey, WebSocket });
for await (const line of socket.submit([signed], { wait: "included" })) console.log(line);
socket.close();`,
  schemas: { ...clientFrame, ...serverFrame },
}));

/** The definition of the route, with what only the WebSocket has. */
export default /* @__PURE__ */ define(() => ({ ...DEFINITION, frames: FRAMES, closeNotes: CLOSE_NOTES }));
