import { ROUTES } from "../wire/routes.js";
import type { SchemaName } from "../wire/schema/index.js";
import { CLOSE_CODES } from "../wire/socket.js";
import { CLOSE_NOTES } from "./closeCodes.js";
import { EXAMPLES } from "./examples.js";
import { INTRODUCTION_TO_SOCKET, TITLE } from "./introduction.js";
import { namedSchemas } from "./references.js";

/** The frames of the WebSocket (D23) by their names in the document. */
export const FRAMES = {
  submit: { schema: "SubmitFrame", from: "client", title: "Submit transactions" },
  watch: { schema: "WatchFrame", from: "client", title: "Give the lines of earlier submissions" },
  line: { schema: "LineFrame", from: "service", title: "A result line" },
  done: { schema: "DoneFrame", from: "service", title: "Every line was sent" },
  error: { schema: "ErrorFrame", from: "service", title: "A request was refused whole" },
} as const satisfies Record<string, { schema: SchemaName; from: "client" | "service"; title: string }>;

/** The schemas that frames are made of. */
const PARTS: readonly SchemaName[] = ["Wait", "Error", "LineError"];

/** The WebSocket of D23 as an AsyncAPI 3 document; a plain value for JSON. */
export function asyncApiOf({ version }: { readonly version: string }): Record<string, unknown> {
  const names = Object.keys(FRAMES) as (keyof typeof FRAMES)[];
  const used = new Set<string>([...Object.values(FRAMES).map(({ schema }) => schema), ...PARTS]);
  return {
    asyncapi: "3.0.0",
    info: {
      title: `${TITLE}: the WebSocket`,
      version,
      description: INTRODUCTION_TO_SOCKET.join("\n\n"),
      license: { name: "Apache-2.0" },
    },
    defaultContentType: "application/json",
    servers: {
      service: {
        host: "{host}",
        protocol: "ws",
        description: "`wss` where TLS ends in front of the service.",
        variables: { host: { default: "127.0.0.1:8080", description: "Where the service listens." } },
        security: [{ $ref: "#/components/securitySchemes/apiKey" }],
      },
    },
    channels: { submit: channel(names) },
    operations: {
      request: operation("receive", "What a client sends", "client"),
      answer: operation("send", "What the service sends", "service"),
    },
    components: {
      messages: Object.fromEntries(names.map((name) => [name, message(name)])),
      schemas: Object.fromEntries(Object.entries(namedSchemas()).filter(([name]) => used.has(name))),
      securitySchemes: { apiKey: { type: "http", scheme: "bearer" } },
    },
  };
}

function channel(names: readonly (keyof typeof FRAMES)[]) {
  const { method, path } = ROUTES.socket;
  const closeCodes = (Object.keys(CLOSE_CODES) as (keyof typeof CLOSE_CODES)[]).map((name) => ({
    code: CLOSE_CODES[name],
    ...CLOSE_NOTES[name],
  }));
  return {
    address: path,
    description: "One connection, any number of requests.",
    messages: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
    bindings: {
      ws: {
        method,
        headers: {
          type: "object",
          properties: { Authorization: { type: "string", description: "Bearer <API key>" } },
          required: ["Authorization"],
        },
        bindingVersion: "0.1.0",
      },
    },
    "x-close-codes": closeCodes,
  };
}

function operation(action: "send" | "receive", title: string, from: "client" | "service") {
  const sent = Object.entries(FRAMES).filter(([, frame]) => frame.from === from);
  return {
    action,
    title,
    channel: { $ref: "#/channels/submit" },
    messages: sent.map(([name]) => ({ $ref: `#/channels/submit/messages/${name}` })),
  };
}

function message(name: keyof typeof FRAMES) {
  const { schema, title } = FRAMES[name];
  return {
    name,
    title,
    payload: { $ref: `#/components/schemas/${schema}` },
    examples: EXAMPLES[schema].map((payload) => ({ payload })),
  };
}
