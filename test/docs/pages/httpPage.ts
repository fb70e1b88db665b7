import { ROUTES } from "@gas-waiver/protocol";
import {
  type AnswerDescription,
  FRAMES,
  INTRODUCTION,
  type ParameterDescription,
  ROUTE_DESCRIPTIONS,
  type RouteName,
  refusalsByStatus,
  refusalsOf,
  SCHEMAS,
  type SchemaName,
} from "@gas-waiver/protocol/description";
import { code, codeBlock, heading, page, table } from "./markdown.js";
import { schemaLink, schemaSections, typeOf } from "./schemas.js";

const ROUTE_NAMES = Object.keys(ROUTE_DESCRIPTIONS) as RouteName[];
const FRAME_SCHEMAS: ReadonlySet<SchemaName> = new Set(Object.values(FRAMES).map(({ schema }) => schema));

/** docs/reference/http.md */
export function httpPage(): string {
  const names = (Object.keys(SCHEMAS) as SchemaName[]).filter((name) => !FRAME_SCHEMAS.has(name));
  return page(
    "packages/protocol/src/description",
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
  const { summary } = ROUTE_DESCRIPTIONS[name];
  const { method, authenticated } = ROUTES[name];
  return [code(`${method} ${pathOf(name)}`), `[${summary}](#route-${name})`, authenticated ? "yes" : "no"];
}

function routeSection(name: RouteName): string {
  const { summary, text, parameters, body, answers, curl, sdk } = ROUTE_DESCRIPTIONS[name];
  return [
    heading(2, summary, `route-${name}`),
    codeBlock("http", `${ROUTES[name].method} ${pathOf(name)}`),
    ...text,
    ...(parameters ? [parametersTable(parameters)] : []),
    ...(body ? [`The body is a ${schemaLink(body)} as \`application/json\`.`] : []),
    codeBlock("sh", curl),
    ...(sdk ? [codeBlock("js", sdk)] : []),
    answersTable(name, answers),
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

function answersTable(name: RouteName, answers: Readonly<Record<number, AnswerDescription>>): string {
  const good = Object.entries(answers).map(([status, { description, schema }]) => [
    status,
    schema ? `${description} ${schemaLink(schema)}` : description,
  ]);
  const refused = [...refusalsByStatus(refusalsOf(name))].map(([status, reasons]) => [
    String(status),
    reasons.map((reason) => `[${code(reason)}](../errors.md#${reason.toLowerCase()})`).join(", "),
  ]);
  return table(["status", "answer, or reasons of a refusal"], [...good, ...refused]);
}
