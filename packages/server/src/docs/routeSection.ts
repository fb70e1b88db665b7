import { NDJSON, ROUTES } from "@gas-waiver/protocol";
import {
  examplesOf,
  type HeaderName,
  headersOf,
  type ParameterDescription,
  type ResponseDescription,
  ROUTE_DEFINITIONS,
  ROUTE_NAMES,
  type RouteName,
  refusalsByStatus,
  refusalsOf,
  schemaNameOf,
  sharedHeadersOf,
} from "@gas-waiver/protocol/description";
import { reasonLink } from "./errorsSection.js";
import { type Html, html, json, listing, paragraphs, sentence, table } from "./html.js";
import { schemaLink, typeOf } from "./schemaSection.js";

/** Returns the anchor of a route: its name, because two routes share a path. */
export function anchorOf(name: RouteName): string {
  return `route-${name}`;
}

export function routesSection(): Html {
  return html`<section id="routes"><h2>Routes</h2>${ROUTE_NAMES.map(routeArticle)}</section>`;
}

function routeArticle(name: RouteName): Html {
  const { method, path, authenticated } = ROUTES[name];
  const { summary, text, parameters, body, responses, curl, sdk } = ROUTE_DEFINITIONS[name];
  return html`<article id="${anchorOf(name)}"><h3>${summary}</h3>
<p class="route"><b class="method">${method}</b> <code>${path.replace(/:(\w+)/g, "{$1}")}</code>
<span class="key">${authenticated ? "with an API key" : "no key"}</span></p>
${paragraphs(text)}
${parameters && parametersTable(parameters)}
${body && html`<p>Body, <code>application/json</code>: ${schemaLink(schemaNameOf(body))}</p>`}
${listing("curl", curl)}
${sdk && listing("@gas-waiver/client", sdk)}
<h4>Responses</h4>
${table(["status", "response", "headers"], responseRows(name))}
${Object.entries(responses).map(([status, response]) => exampleOf(status, response))}</article>`;
}

function parametersTable(parameters: readonly ParameterDescription[]): Html {
  const rows = parameters.map(({ in: place, name, schema, description, required }) => [
    html`<code>${name}</code>${required && html`<b title="required">*</b>`}`,
    html`${place}`,
    typeOf(schema),
    sentence(description),
  ]);
  return html`<h4>Parameters</h4>${table(["name", "in", "type", "meaning"], rows)}`;
}

function responseRows(name: RouteName): Html[][] {
  const { responses } = ROUTE_DEFINITIONS[name];
  const good = Object.entries(responses).map(([status, { description, schema, headers = [] }]) => [
    html`<b class="status ok">${status}</b>`,
    html`${sentence(description)}${schema && html` ${schemaLink(schemaNameOf(schema))}`}`,
    headerList(headers),
  ]);
  const refused = [...refusalsByStatus(refusalsOf(name))].map(([status, reasons]) => {
    const shared = sharedHeadersOf(reasons);
    return [
      html`<b class="status">${status}</b>`,
      html`${reasons.map((reason) => html`${reasonLink(reason)} `)}`,
      headerList(shared.length > 0 ? shared : [...new Set(reasons.flatMap(headersOf))]),
    ];
  });
  return [...good, ...refused];
}

function headerList(names: readonly HeaderName[]): Html {
  return html`${names.map((name) => html`<code>${name}</code> `)}`;
}

function exampleOf(status: string, { schema, contentType, examples }: ResponseDescription): Html {
  if (schema === undefined) return html``;
  const shown = examplesOf(schema).filter((_, i) => examples?.includes(i) ?? true);
  const isStream = contentType === NDJSON;
  const text = isStream ? shown.map((one) => JSON.stringify(one)).join("\n") : json(shown[0]);
  return html`<details><summary>Example of ${status}</summary>${listing(contentType ?? "", text)}</details>`;
}
