import type { Reason } from "../reasons.js";
import { ROUTES } from "../wire/routes.js";
import { SCHEMAS, type SchemaName } from "../wire/schema/index.js";
import { EXAMPLES } from "./examples.js";
import { HEADERS, type HeaderName, sharedHeadersOf } from "./headers.js";
import { INTRODUCTION, TITLE } from "./introduction.js";
import { REASON_NOTES } from "./reasons.js";
import { namedSchemas, referring } from "./references.js";
import {
  type AnswerDescription,
  type ParameterDescription,
  ROUTE_DESCRIPTIONS,
  type RouteName,
  refusalsByStatus,
  refusalsOf,
} from "./routes/index.js";

/** The versioned interface over HTTP as an OpenAPI 3.1 document; a plain value for JSON. */
export function openApiOf({ version }: { readonly version: string }): Record<string, unknown> {
  return {
    openapi: "3.1.0",
    info: {
      title: TITLE,
      version,
      description: INTRODUCTION.join("\n\n"),
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    // Where this document comes from.
    servers: [{ url: "/" }],
    security: [{ apiKey: [] }],
    paths: paths(),
    components: {
      schemas: namedSchemas(),
      headers: Object.fromEntries(
        Object.entries(HEADERS).map(([name, { description, schema, example }]) => [
          name,
          { description, schema, example },
        ]),
      ),
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key: `gw_<env>_<key id>_<secret>`." },
      },
    },
  };
}

function paths(): Record<string, Record<string, unknown>> {
  const all: Record<string, Record<string, unknown>> = {};
  for (const name of Object.keys(ROUTE_DESCRIPTIONS) as RouteName[]) {
    const { method, path } = ROUTES[name];
    if (!path.startsWith("/v1/")) continue;
    const template = path.replace(/:(\w+)/g, "{$1}");
    all[template] = { ...all[template], [method.toLowerCase()]: operation(name) };
  }
  return all;
}

function operation(name: RouteName) {
  const { summary, text, parameters = [], body, answers, curl, sdk } = ROUTE_DESCRIPTIONS[name];
  const samples = [
    { lang: "Shell", label: "curl", source: curl },
    ...(sdk === undefined ? [] : [{ lang: "JavaScript", label: "@gas-waiver/client", source: sdk }]),
  ];
  return {
    operationId: name,
    summary,
    description: text.join("\n\n"),
    ...(!ROUTES[name].authenticated && { security: [] }),
    ...(parameters.length > 0 && { parameters: parameters.map(parameter) }),
    ...(body && { requestBody: { required: true, content: content("application/json", body) } }),
    responses: responses(answers, refusalsOf(name)),
    "x-codeSamples": samples,
  };
}

function parameter({ in: place, name, description, schema, required }: ParameterDescription) {
  return { in: place, name, description, required: required ?? false, schema: referring(schema) };
}

function content(type: string, schema: SchemaName, indexes?: readonly number[]) {
  const examples = EXAMPLES[schema].filter((_, i) => indexes?.includes(i) ?? true);
  const named = examples.map((value, i) => [
    examples.length === 1 ? "example" : `example${i + 1}`,
    { value },
  ]);
  return { [type]: { schema: referring(SCHEMAS[schema]), examples: Object.fromEntries(named) } };
}

function responses(
  answers: Readonly<Record<number, AnswerDescription>>,
  reasons: readonly Reason[],
): Record<string, unknown> {
  const good = Object.entries(answers).map(([status, answer]) => [status, answerResponse(answer)]);
  const refused = [...refusalsByStatus(reasons)]
    // A status of both kinds: the answer's own body comes in the place of the error's (ready).
    .map(([status, those]) => [String(status), refusal(those)]);
  return { ...Object.fromEntries(refused), ...Object.fromEntries(good) };
}

function answerResponse({ description, contentType, schema, examples, headers }: AnswerDescription) {
  const body = contentType && (schema ? content(contentType, schema, examples) : { [contentType]: {} });
  return { description, ...headerFields(headers ?? []), ...(body && { content: body }) };
}

function refusal(reasons: readonly Reason[]) {
  const causes = reasons.map((reason) => `- \`${reason}\`: ${REASON_NOTES[reason].cause}`);
  return {
    description: causes.join("\n"),
    ...headerFields(sharedHeadersOf(reasons)),
    content: { "application/json": { schema: referring(SCHEMAS.RequestError) } },
    "x-reasons": reasons,
  };
}

function headerFields(names: readonly HeaderName[]) {
  if (names.length === 0) return {};
  return {
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
  };
}
