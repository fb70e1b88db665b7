import type { NodeReason } from "../../packages/devnet/src/pool/refusedError.js";
import { CODE_NOTES, RETRY_LABELS } from "../../packages/protocol/src/reasons/codes.js";
import { DETAIL_NOTES } from "../../packages/protocol/src/reasons/detailNotes.js";
import { type DetailName, detailNamesOf } from "../../packages/protocol/src/reasons/details.js";
import {
  codeOf,
  type ErrorCode,
  type Reason,
  retryOf,
  statusOf,
} from "../../packages/protocol/src/reasons/index.js";
import { REASON_GROUPS, REASON_NOTES } from "../../packages/protocol/src/reasons/notes.js";
import type { Place } from "../../packages/protocol/src/reasons/reasonGroup.js";
import { page, table } from "./markdown.js";

const INTRODUCTION = `An error is \`{ code, message, reason?, details? }\`. \`code\` is its kind. \`reason\` is the name of the one rule that failed: it never changes its meaning, and newer services may send reasons that are not in this list (D26). \`message\` is for people: it has the values involved, and may change. \`details\` has [the values](#details) for programs.

An error is in the result line of its transaction (D13), and later in the submission's record; or it is the response to a request that was refused as a whole, \`{ "error": { … } }\` (D21); or it is the frame of a request over a WebSocket that was refused as a whole, \`{ "request": …, "error": { … } }\` (D23).

A request that is refused as a whole has accepted nothing, unless the reason is \`INTERNAL_ERROR\` or \`STORE_UNAVAILABLE\`: then it is not known, and the answer to the same request, sent again, tells.

**A retry is always safe.** The same signed transaction is the same submission, and nothing happens twice, however often it is sent (D18). The last column, and \`details.retry\`, say whether a retry helps:

- *corrected only* (\`corrected\`): the same request or transaction fails again until you have done what the remedy says;
- *later* (\`later\`): it may pass after a while; over HTTP, a 429 or 503 gives the number of seconds in \`Retry-After\`;
- *at once* (\`now\`): it returns the earlier submission, or tries again one that has failed for good.

Under an \`Idempotency-Key\` nothing is tried again: for 24 hours, unless the operator set another time, the same request gets the same refusals and the same submissions, even where the transaction would pass by now.

To try it again, send it under another \`Idempotency-Key\`, or without one ([how](guides/follow.md#use-an-idempotency-key)). A request that was refused as a whole may be sent again under its \`Idempotency-Key\`.`;

const DETAILS_TEXT =
  '`details` has `retry` for every reason, and these values for some. A name has one meaning, whatever the reason. All of them are optional: a service leaves out what it does not know, and an older one has no details. With the SDK, `detailsOf(error, "NONCE_GAP")?.missing` reads them with their types. Numbers that may pass 2^53 are decimal text.';

const RELAY_TEXT =
  "A server of yours with [`createRelayHandler`](recipes/backend.md) passes on the reasons of the service, and has one of its own:";

/** The reason of the client's relay, which no service has. */
const RELAY_ROW = [
  '<a id="relay_refused"></a>`RELAY_REFUSED`<br>`VALIDATION_FAILED`<br>403',
  "`allow` of your server did not return `true` for the transaction at `index`, or its signer is none of the caller's `accounts`. Nothing of the request was sent.",
  "Send what the application allows, signed by an account of the session.",
  "`index`",
  RETRY_LABELS.corrected,
];

const NODE_TEXT =
  "The devnet names its own refusals of a transaction, or of a time, in `data.reason` of an error -32000, as it names the reasons of the place `node`. They never reach a caller of the service.";

/** The reasons of the node alone. The compiler demands a note for each. */
const NODE_NOTES: Readonly<Record<Exclude<NodeReason, Reason>, string>> = {
  ALREADY_KNOWN: "The pool, or a block, has these very bytes.",
  REPLACEMENT_UNDERPRICED: "Another transaction has the nonce, and only a higher price replaces it.",
  POOL_FULL: "The pool has as many transactions as it takes.",
  GAS_PRICE_BELOW_MINIMUM: "An ordinary transaction pays less than the chain's least price (D11).",
  GAS_LIMIT_ABOVE_BLOCK: "The gas limit is above that of a block.",
  INSUFFICIENT_FUNDS: "The balance does not cover the value, and the gas that an ordinary transaction pays.",
  TIMESTAMP_IN_THE_PAST: "A block's time is asked for that is not after the latest block's.",
};

const PLACE_LABELS: Readonly<Record<Exclude<Place, "http">, string>> = {
  submit: "submit",
  check: "check",
  watch: "watch",
  record: "record",
  frame: "frame",
  node: "node",
  admin: "admin API",
};

function placesOf(reason: Reason): string {
  const places = REASON_NOTES[reason].where;
  const textOf = (place: Place) => {
    if (place === "http") return String(statusOf(reason));
    return place === "admin" ? `${PLACE_LABELS.admin}, ${statusOf(reason)}` : PLACE_LABELS[place];
  };
  return places.map(textOf).join(", ");
}

/** docs/errors.md */
export function errorsPage(): string {
  const codes = (Object.keys(CODE_NOTES) as ErrorCode[]).map((code) => [`\`${code}\``, CODE_NOTES[code]]);
  const groups = REASON_GROUPS.map(({ title, reasons }) => {
    const rows = reasons.map((reason) => {
      const { cause, remedy } = REASON_NOTES[reason];
      return [
        `<a id="${reason.toLowerCase()}"></a>\`${reason}\`<br>\`${codeOf(reason)}\`<br>${placesOf(reason)}`,
        cause,
        remedy,
        detailNamesOf(reason)
          .map((name) => `\`${name}\``)
          .join(", "),
        RETRY_LABELS[retryOf(reason)],
      ];
    });
    return `## ${title}\n\n${table(["reason, code, where", "cause", "remedy", "details", "retry"], rows)}`;
  });
  const where =
    "The places, below each reason and its code: a line of a `submit` or a `check`; the `record` of the submission, and the line of a watch of it; the line of a `watch` without a submission; an HTTP status; an error `frame` of a WebSocket; `data.reason` of a validating `node`; or the `admin API`. A test produces every reason in each of its places.";
  const details = (Object.keys(DETAIL_NOTES) as DetailName[]).map((name) => {
    const { type, meaning } = DETAIL_NOTES[name];
    const reasons = (Object.keys(REASON_NOTES) as Reason[]).filter((reason) =>
      detailNamesOf(reason).includes(name),
    );
    const links = reasons.map((reason) => `[\`${reason}\`](#${reason.toLowerCase()})`);
    return [`\`${name}\``, type, meaning, links.join(", ")];
  });
  const relay = table(["reason, code, where", "cause", "remedy", "details", "retry"], [RELAY_ROW]);
  groups.push(`## A relay of yours refuses it\n\n${RELAY_TEXT}\n\n${relay}`);
  const node = Object.entries(NODE_NOTES).map(([reason, cause]) => [
    `<a id="${reason.toLowerCase()}"></a>\`${reason}\``,
    cause,
  ]);
  groups.push(`## The node alone refuses it\n\n${NODE_TEXT}\n\n${table(["reason", "cause"], node)}`);
  groups.push(`## Details\n\n${DETAILS_TEXT}\n\n${table(["value", "type", "meaning", "reasons"], details)}`);
  return page(
    "packages/protocol/src/reasons",
    "Errors",
    INTRODUCTION,
    `## Codes\n\n${table(["code", "meaning"], codes)}`,
    where,
    ...groups,
  );
}
