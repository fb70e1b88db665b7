import definitions, { CLOSE_CODES, ROUTES } from "../wire/routes/index.js";
import { type DescribedService, INTRODUCTION_TO_SOCKET, TITLE } from "./introduction.js";
import { CLOSE_NOTES, FRAMES } from "./routes.js";
import { examplesOf, type SchemaName, schemaComponents, withReferences } from "./schemas.js";

type FrameName = keyof typeof FRAMES;

const FRAME_NAMES = Object.keys(FRAMES) as readonly FrameName[];

/** The schemas that the frames refer to. */
const REFERRED_SCHEMAS: readonly SchemaName[] = ["Wait", "Error", "LineError"];

/**
 * Returns the WebSocket of D23 as an AsyncAPI 3 document: a plain value for JSON.
 * @example
 * ```ts
 * const text = JSON.stringify(asyncApiOf({ version: "1.2.3" }));
 * ```
 */
export function asyncApiOf({ version, basePath = "" }: DescribedService): Record<string, unknown> {
  const schemas: readonly string[] = [...Object.keys(definitions.socket.schemas), ...REFERRED_SCHEMAS];
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
        ...(basePath !== "" && { pathname: basePath }),
        description: "`wss` with TLS, of the service itself or of a proxy in front of it.",
        variables: { host: { default: "127.0.0.1:8080", description: "The address of the service." } },
        security: [{ $ref: "#/components/securitySchemes/apiKey" }],
      },
    },
    channels: { submit: channel() },
    operations: {
      request: operation("receive", "The frames of a client", "client"),
      answer: operation("send", "The frames of the service", "service"),
    },
    components: {
      messages: Object.fromEntries(FRAME_NAMES.map((name) => [name, message(name)])),
      schemas: Object.fromEntries(
        Object.entries(schemaComponents()).filter(([name]) => schemas.includes(name)),
      ),
      securitySchemes: { apiKey: { type: "http", scheme: "bearer" } },
    },
  };
}

function channel() {
  const { method, path } = ROUTES.socket;
  const closeCodes = (Object.keys(CLOSE_CODES) as (keyof typeof CLOSE_CODES)[]).map((name) => {
    const { cause, remedy } = CLOSE_NOTES[name];
    return { code: CLOSE_CODES[name], why: cause, remedy };
  });
  return {
    address: path,
    description: "One connection, any number of requests.",
    messages: Object.fromEntries(
      FRAME_NAMES.map((name) => [name, { $ref: `#/components/messages/${name}` }]),
    ),
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
  const sent = FRAME_NAMES.filter((name) => FRAMES[name].from === from);
  return {
    action,
    title,
    channel: { $ref: "#/channels/submit" },
    messages: sent.map((name) => ({ $ref: `#/channels/submit/messages/${name}` })),
  };
}

function message(name: FrameName) {
  const { schema, title } = FRAMES[name];
  return {
    name,
    title,
    payload: withReferences(schema),
    examples: examplesOf(schema).map((payload) => ({ payload })),
  };
}
