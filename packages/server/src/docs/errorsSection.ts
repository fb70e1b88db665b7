import { codeOf, detailNamesOf, type ErrorCode, type Reason, retryOf, statusOf } from "@gas-waiver/protocol";
import {
  CODE_NOTES,
  type Place,
  REASON_GROUPS,
  REASON_NOTES,
  RETRY_LABELS,
} from "@gas-waiver/protocol/description";
import { type Html, html, sentence, table } from "./html.js";

const CODES = Object.keys(CODE_NOTES) as ErrorCode[];

/** Renders every code and every reason, with its cause and remedy. */
export function errorsSection(): Html {
  const codes = CODES.map((code) => [html`<code>${code}</code>`, sentence(CODE_NOTES[code])]);
  return html`<section id="errors"><h2>Errors</h2>
<p>An error has a <code>code</code>, the <code>reason</code> that names the one rule that failed, a
<code>message</code> for people, and <code>details</code>: the values involved, for programs. It is in a result line, it is the response to a request that was refused as a whole
(with the HTTP status given here), or it is a frame of the WebSocket. The last line of each entry says whether a retry
helps: <em>${RETRY_LABELS.now}</em>, <em>${RETRY_LABELS.later}</em>, or <em>${RETRY_LABELS.corrected}</em>. A retry
never does harm. Under an <code>Idempotency-Key</code> the same request gets the same refusals and submissions for 24
hours; to try a transaction again, send it under another <code>Idempotency-Key</code>.</p>
<h3>Codes</h3>${table(["code", "meaning"], codes)}
${REASON_GROUPS.map(({ title, reasons }) => html`<h3>${title}</h3><dl>${reasons.map(reasonEntry)}</dl>`)}</section>`;
}

function reasonEntry(reason: Reason): Html {
  const { where, cause, remedy } = REASON_NOTES[reason];
  const values = detailNamesOf(reason);
  const details = values.length > 0 ? `, details: ${values.join(", ")}` : "";
  return html`<div id="${anchorOf(reason)}" class="reason"><dt><code>${reason}</code>
<small>${codeOf(reason)} · ${where.map((place) => placeOf(place, reason)).join(", ")}</small></dt>
<dd>${sentence(cause)}</dd><dd>${sentence(remedy)}</dd><dd><small>retry: ${RETRY_LABELS[retryOf(reason)]}${details}</small></dd></div>`;
}

function placeOf(place: Place, reason: Reason): string {
  const http = `HTTP ${statusOf(reason)}`;
  if (place === "http") return http;
  return place === "admin" ? `admin API, ${http}` : place;
}

export function reasonLink(reason: Reason): Html {
  return html`<a href="#${anchorOf(reason)}"><code>${reason}</code></a>`;
}

function anchorOf(reason: Reason): string {
  return `reason-${reason}`;
}
