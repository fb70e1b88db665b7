import type { Reason } from "../reasons/index.js";
import { REASON_NOTES } from "../reasons/notes.js";
import { HEADERS, type HeaderName, sharedHeadersOf } from "../wire/responseHeaders.js";
import { ROUTES, type RouteName } from "../wire/routes/index.js";
import type { ParameterDescription, ResponseDescription } from "../wire/routes/routeDefinition.js";
import type { Schema } from "../wire/schema.js";
import { type DescribedService, INTRODUCTION, TITLE } from "./introduction.js";
import { refusalsByStatus, refusalsOf } from "./refusals.js";
import { ROUTE_DEFINITIONS, ROUTE_NAMES } from "./routes.js";
import { examplesOf, SCHEMAS, schemaComponents, withReferences } from "./schemas.js";

/**
 * Returns the versioned interface over HTTP as an OpenAPI 3.1 document: a plain value for JSON.
 * @example
 * ```ts
 * const text = JSON.stringify(openApiOf({ version: "1.2.3" }));
 * ```
 */
export function openApiOf({ version, basePath = "" }: DescribedService): Record<string, unknown> {
  return {
    openapi: "3.1.0",
    info: {
      title: TITLE,
      version,
      description: INTRODUCTION.join("\n\n"),
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    // The address that serves the OpenAPI document.
    servers: [{ url: basePath || "/" }],
    security: [{ apiKey: [] }],
    paths: paths(),
    components: {
      schemas: schemaComponents(),
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
  for (const name of ROUTE_NAMES) {
    const { method, path } = ROUTES[name];
    if (!path.startsWith("/v1/")) continue;
    const template = path.replace(/:(\w+)/g, "{$1}");
    all[template] = { ...all[template], [method.toLowerCase()]: operation(name) };
  }
  return all;
}

function operation(name: RouteName) {
  const { summary, text, parameters = [], body, responses, curl, sdk } = ROUTE_DEFINITIONS[name];
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
    responses: describeResponses(responses, refusalsOf(name)),
    "x-codeSamples": samples,
  };
}

function parameter({ in: place, name, description, schema, required }: ParameterDescription) {
  return { in: place, name, description, required: required ?? false, schema: withReferences(schema) };
}

function content(type: string, schema: Schema, indexes?: readonly number[]) {
  const examples = examplesOf(schema).filter((_, i) => indexes?.includes(i) ?? true);
  const named = examples.map((value, i) => [
    examples.length === 1 ? "example" : `example${i + 1}`,
    { value },
  ]);
  return { [type]: { schema: withReferences(schema), examples: Object.fromEntries(named) } };
}

function describeResponses(
  responses: Readonly<Record<number, ResponseDescription>>,
  reasons: readonly Reason[],
): Record<string, unknown> {
  const described = Object.entries(responses).map(([status, response]) => [
    status,
    describeResponse(response),
  ]);
  const refused = [...refusalsByStatus(reasons)].map(([status, reasonsOfStatus]) => [
    String(status),
    describeRefusal(reasonsOfStatus),
  ]);
  // Readiness has a 503 of both kinds. Its own body takes the place of the error's.
  return { ...Object.fromEntries(refused), ...Object.fromEntries(described) };
}

function describeResponse({ description, contentType, schema, examples, headers }: ResponseDescription) {
  const body = contentType && (schema ? content(contentType, schema, examples) : { [contentType]: {} });
  return { description, ...headerFields(headers ?? []), ...(body && { content: body }) };
}

function describeRefusal(reasons: readonly Reason[]) {
  const causes = reasons.map((reason) => `- \`${reason}\`: ${REASON_NOTES[reason].cause}`);
  return {
    description: causes.join("\n"),
    ...headerFields(sharedHeadersOf(reasons)),
    content: { "application/json": { schema: withReferences(SCHEMAS.RequestError) } },
    "x-reasons": reasons,
  };
}

function headerFields(names: readonly HeaderName[]) {
  if (names.length === 0) return {};
  return {
    headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
  };
}
