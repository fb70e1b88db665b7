import { CLOSE_CODES, ROUTES } from "@gas-waiver/protocol";
import {
  CLOSE_NOTES,
  examplesOf,
  FRAMES,
  INTRODUCTION_TO_SOCKET,
  schemaNameOf,
} from "@gas-waiver/protocol/description";
import { type Html, html, listing, paragraphs, sentence, table } from "./html.js";
import { schemaLink } from "./schemaSection.js";

/** Renders the WebSocket (D23): its frames with examples, and its close codes. */
export function socketSection(): Html {
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
