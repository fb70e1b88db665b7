import { ROUTES } from "@gas-waiver/protocol";
import {
  FRAMES,
  INTRODUCTION,
  type ParameterDescription,
  type ResponseDescription,
  ROUTE_DEFINITIONS,
  ROUTE_NAMES,
  type RouteName,
  refusalsByStatus,
  refusalsOf,
  SCHEMA_NAMES,
  type SchemaName,
  schemaNameOf,
} from "@gas-waiver/protocol/description";
import { code, codeBlock, heading, page, table } from "./markdown.js";
import { schemaLink, schemaSections, typeOf } from "./schemas.js";

const FRAME_SCHEMAS: ReadonlySet<SchemaName> = new Set(
  Object.values(FRAMES).map(({ schema }) => schemaNameOf(schema)),
);

/** docs/reference/http.md */
export function httpPage(): string {
  const names = SCHEMA_NAMES.filter((name) => !FRAME_SCHEMAS.has(name));
  return page(
    "packages/protocol/src/wire/routes",
    "HTTP routes",
    INTRODUCTION.join("\n\n"),
    "A running service serves the same as a page (`/docs`) and as OpenAPI (`/v1/openapi.json`). In the samples, `URL` is the service, `API_KEY` the key and `ID` a submission.",
    table(["route", "for", "API key"], ROUTE_NAMES.map(overviewRow)),
    ...ROUTE_NAMES.map(routeSection),
    "## Bodies and lines",
    "Numbers that may pass 2^53 are decimal text.",
    schemaSections(names),
  );
}

const pathOf = (name: RouteName) => ROUTES[name].path.replace(/:(\w+)/g, "{$1}");

function overviewRow(name: RouteName): string[] {
  const { summary } = ROUTE_DEFINITIONS[name];
  const { method, authenticated } = ROUTES[name];
  return [code(`${method} ${pathOf(name)}`), `[${summary}](#route-${name})`, authenticated ? "yes" : "no"];
}

function routeSection(name: RouteName): string {
  const { summary, text, parameters, body, responses, curl, sdk } = ROUTE_DEFINITIONS[name];
  return [
    heading(2, summary, `route-${name}`),
    codeBlock("http", `${ROUTES[name].method} ${pathOf(name)}`),
    ...text,
    ...(parameters ? [parametersTable(parameters)] : []),
    ...(body ? [`The body is a ${schemaLink(schemaNameOf(body))} as \`application/json\`.`] : []),
    codeBlock("sh", curl),
    ...(sdk ? [codeBlock("js", sdk)] : []),
    responsesTable(name, responses),
  ].join("\n\n");
}

function parametersTable(parameters: readonly ParameterDescription[]): string {
  const rows = parameters.map(({ in: place, name, schema, description, required }) => [
    code(name),
    required ? `${place}, required` : place,
    typeOf(schema),
    description,
  ]);
  return table(["parameter", "in", "type", "meaning"], rows);
}

function responsesTable(name: RouteName, responses: Readonly<Record<number, ResponseDescription>>): string {
  const good = Object.entries(responses).map(([status, { description, schema }]) => [
    status,
    schema ? `${description} ${schemaLink(schemaNameOf(schema))}` : description,
  ]);
  const refused = [...refusalsByStatus(refusalsOf(name))].map(([status, reasons]) => [
    String(status),
    reasons.map((reason) => `[${code(reason)}](../errors.md#${reason.toLowerCase()})`).join(", "),
  ]);
  return table(["status", "response, or reasons of a refusal"], [...good, ...refused]);
}
