import { CLOSE_CODES, ROUTES } from "@gas-waiver/protocol";
import {
  CLOSE_NOTES,
  examplesOf,
  FRAMES,
  INTRODUCTION,
  INTRODUCTION_TO_SOCKET,
  REASON_GROUPS,
  ROUTE_DEFINITIONS,
  ROUTE_NAMES,
  SCHEMA_NAMES,
  schemaNameOf,
  TITLE,
} from "@gas-waiver/protocol/description";
import { errorsSection, reasonLink } from "./errorsSection.js";
import { Html, html, listing, paragraphs, sentence, table } from "./html.js";
import { anchorOf, routesSection } from "./routeSection.js";
import { schemaLink, schemasSection } from "./schemaSection.js";
import { STYLE } from "./style.js";

interface PageOptions {
  /** The service's version. */
  readonly version: string;
  /** The documents for tools, by their file names. */
  readonly documents: Readonly<Record<string, string>>;
}

/** Renders the reference as one page that loads nothing else: no script, no font, no image. */
export function renderPage({ version, documents }: PageOptions): string {
  return `<!doctype html>\n${
    html`<html lang="en"><head><meta charset="utf-8"><title>${TITLE} ${version}: reference</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${new Html(STYLE)}</style></head>
<body>${navigation()}<main><header id="top"><h1>${TITLE}</h1>
<p><small>Reference of version ${version}. For tools: ${downloads(documents)}</small></p>${paragraphs(INTRODUCTION)}
${listing("Settings of the examples below, for the service of npm start", SETTINGS)}
${listing("The same for the SDK", CLIENT)}</header>
${routesSection()}${socketSection()}${errorsSection()}${schemasSection()}</main></body></html>`.text
  }\n`;
}

/** Renders links that hold the documents themselves, because a browser cannot send the key that their routes need. */
function downloads(documents: Readonly<Record<string, string>>): Html {
  const links = Object.entries(documents).map(([name, text]) => {
    const data = Buffer.from(text).toString("base64");
    return html`<a download="${name}" href="data:application/json;base64,${data}">${name}</a> `;
  });
  return html`${links}`;
}

const SETTINGS = "export URL=http://127.0.0.1:8080 API_KEY=gw_dev_local";
const CLIENT = `import { connect, createWaiverClient } from '@gas-waiver/client';

const url = "http://127.0.0.1:8080";
const apiKey = "gw_dev_local";
const client = createWaiverClient({ url, apiKey });`;

function navigation(): Html {
  const routes = ROUTE_NAMES.map(
    (name) => html`<li><a href="#${anchorOf(name)}">${ROUTE_DEFINITIONS[name].summary}</a></li>`,
  );
  const reasons = REASON_GROUPS.map(
    ({ title, reasons }) =>
      html`<li><details><summary>${title}</summary><ul>${reasons.map((one) => html`<li>${reasonLink(one)}</li>`)}</ul></details></li>`,
  );
  const definitions = SCHEMA_NAMES.map((name) => html`<li>${schemaLink(name)}</li>`);
  return html`<nav aria-label="Contents"><ul>
<li><a href="#top">Introduction</a></li>
<li><details open><summary>Routes</summary><ul>${routes}</ul></details></li>
<li><a href="#websocket">WebSocket</a></li>
<li><details><summary>Errors</summary><ul><li><a href="#errors">All</a></li>${reasons}</ul></details></li>
<li><details><summary>Definitions</summary><ul>${definitions}</ul></details></li>
</ul></nav>`;
}

/** Renders the WebSocket (D23): its frames with examples, and its close codes. */
function socketSection(): Html {
  return html`<section id="websocket"><h2>WebSocket</h2>
${paragraphs(INTRODUCTION_TO_SOCKET)}
${listing("Handshake", HANDSHAKE)}
<h3>Frames of the client</h3>${framesOf("client")}
<h3>Frames of the service</h3>${framesOf("service")}
<h3>Close codes</h3>${table(["code", "cause", "remedy"], closeRows())}</section>`;
}

const HANDSHAKE = `GET ${ROUTES.socket.path} HTTP/1.1
Connection: Upgrade
Upgrade: websocket
Sec-WebSocket-Version: 13
Sec-WebSocket-Key: …
Authorization: Bearer gw_…`;

function framesOf(side: "client" | "service"): Html {
  const frames = Object.values(FRAMES).filter(({ from }) => from === side);
  return html`${frames.map(({ title, schema }) => {
    const examples = examplesOf(schema)
      .map((one) => JSON.stringify(one))
      .join("\n");
    return html`<h4>${title}: ${schemaLink(schemaNameOf(schema))}</h4>${listing("Text frame", examples)}`;
  })}`;
}

function closeRows(): Html[][] {
  return (Object.keys(CLOSE_CODES) as (keyof typeof CLOSE_CODES)[]).map((name) => [
    html`<code>${CLOSE_CODES[name]}</code>`,
    sentence(CLOSE_NOTES[name].cause),
    sentence(CLOSE_NOTES[name].remedy),
  ]);
}
