import { ROUTES } from "@gas-waiver/protocol";
import {
  type AnswerDescription,
  EXAMPLES,
  type HeaderName,
  headersOf,
  type ParameterDescription,
  ROUTE_DESCRIPTIONS,
  type RouteName,
  refusalsByStatus,
  refusalsOf,
  sharedHeadersOf,
} from "@gas-waiver/protocol/description";
import { reasonLink } from "./errorsSection.js";
import { type Html, html, json, listing, paragraphs, sentence, table } from "./html.js";
import { schemaLink, typeOf } from "./schemaSection.js";

export const ROUTE_NAMES = Object.keys(ROUTE_DESCRIPTIONS) as RouteName[];

/** Two routes share a path, so the anchor is the route's name. */
export function anchorOf(name: RouteName): string {
  return `route-${name}`;
}

export function routesSection(): Html {
  return html`<section id="routes"><h2>Routes</h2>${ROUTE_NAMES.map(routeArticle)}</section>`;
}

function routeArticle(name: RouteName): Html {
  const { method, path, authenticated } = ROUTES[name];
  const { summary, text, parameters, body, answers, curl, sdk } = ROUTE_DESCRIPTIONS[name];
  return html`<article id="${anchorOf(name)}"><h3>${summary}</h3>
<p class="route"><b class="method">${method}</b> <code>${path.replace(/:(\w+)/g, "{$1}")}</code>
<span class="key">${authenticated ? "with an API key" : "no key"}</span></p>
${paragraphs(text)}
${parameters && parametersTable(parameters)}
${body && html`<p>Body, <code>application/json</code>: ${schemaLink(body)}</p>`}
${listing("curl", curl)}
${sdk && listing("@gas-waiver/client", sdk)}
<h4>Answers</h4>
${table(["status", "what", "headers"], answerRows(name))}
${Object.entries(answers).map(([status, answer]) => exampleOf(status, answer))}</article>`;
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

function answerRows(name: RouteName): Html[][] {
  const good = Object.entries(ROUTE_DESCRIPTIONS[name].answers).map(([status, answer]) => [
    html`<b class="status ok">${status}</b>`,
    html`${sentence(answer.description)}${answer.schema && html` ${schemaLink(answer.schema)}`}`,
    headerList(answer.headers ?? []),
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

function exampleOf(status: string, { schema, contentType, examples }: AnswerDescription): Html {
  if (schema === undefined) return html``;
  const shown = EXAMPLES[schema].filter((_, i) => examples?.includes(i) ?? true);
  const isStream = contentType === "application/x-ndjson";
  const text = isStream ? shown.map((one) => JSON.stringify(one)).join("\n") : json(shown[0]);
  return html`<details><summary>Example of ${status}</summary>${listing(contentType ?? "", text)}</details>`;
}
