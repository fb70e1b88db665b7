import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { codeOf, type ErrorCode, REASONS, type Reason } from "../reasons.js";
import { statusOf } from "../wire/errorBody.js";
import { CODE_NOTES, type Place, RETRY_LABELS } from "./ReasonNote.js";
import { REASON_GROUPS, REASON_NOTES } from "./reasons.js";

const DOCUMENT = fileURLToPath(new URL("../../../../docs/errors.md", import.meta.url));

const INTRODUCTION = `# Errors

<!-- Made from packages/protocol/src/description by \`npm run docs:generate\`. -->

An error is \`{ code, message, reason? }\`. \`code\` says what kind it is. \`reason\` names the one rule that failed; it never changes its meaning, and newer services may know reasons that are not in this list (D26). \`message\` says it for a person, with the values involved, and may change.

An error stands in the result line of its transaction (D13), and later in the submission's record; or it is the body of a request that was refused whole, \`{ "error": { … } }\` (D21); or the frame of a request over a WebSocket that was refused whole, \`{ "request": …, "error": { … } }\` (D23). Of a request refused whole, nothing was accepted, unless the reason is \`INTERNAL_ERROR\` or \`STORE_UNAVAILABLE\`: then nothing is sure, and sending it again tells.

**A retry is always safe.** The same signed transaction is the same submission, and nothing happens twice, however often it is sent (D18). The last column says whether it is of use:

- *corrected only*: the same thing fails again, until what the remedy says is done;
- *later*: the same thing may pass after a while; over HTTP, a 429 or 503 says in \`Retry-After\` after how many seconds;
- *at once*: the same thing gives the submission of before, or a new try of one that has failed for good.

Under an \`Idempotency-Key\` there is no new try: for 24 hours, unless the operator set another time, the same request gets the same refusals and the same submissions, whatever would pass by now. Send such a transaction under another name, or without one ([how](guides/retries.md#use-an-idempotency-key)). A request that was refused whole may be sent again under its name.`;

const WHERE: Readonly<Record<Exclude<Place, "http">, string>> = {
  line: "result line",
  frame: "frame",
  admin: "admin API",
};

function whereOf(reason: Reason): string {
  const places = REASON_NOTES[reason].where;
  const textOf = (place: Place) => {
    if (place === "http") return String(statusOf(reason));
    return place === "admin" ? `${WHERE.admin}, ${statusOf(reason)}` : WHERE[place];
  };
  return places.map(textOf).join(", ");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function renderDocument(): string {
  const codes = (Object.keys(CODE_NOTES) as ErrorCode[]).map((code) => [`\`${code}\``, CODE_NOTES[code]]);
  const groups = REASON_GROUPS.map(({ title, reasons }) => {
    const rows = reasons.map((reason) => {
      const { cause, remedy, retry } = REASON_NOTES[reason];
      return [
        `<a id="${reason.toLowerCase()}"></a>\`${reason}\``,
        `\`${codeOf(reason)}\``,
        whereOf(reason),
        cause,
        remedy,
        RETRY_LABELS[retry],
      ];
    });
    return `## ${title}\n\n${table(["reason", "code", "where", "cause", "remedy", "retry"], rows)}`;
  });
  const where = "Under *where*: an HTTP status, a `result line`, or an error `frame` of a WebSocket.";
  return `${[INTRODUCTION, `## Codes\n\n${table(["code", "meaning"], codes)}`, where, ...groups].join("\n\n")}\n`;
}

describe("docs/errors.md", () => {
  it("is what the notes on the reasons say (`npm run docs:generate` writes it)", async () => {
    await expect(renderDocument()).toMatchFileSnapshot(DOCUMENT);
  });

  it("has every reason once, in a group", () => {
    const grouped = REASON_GROUPS.flatMap(({ reasons }) => reasons);
    expect([...grouped].sort()).toEqual(Object.keys(REASONS).sort());
  });

  it("says of every reason at least one place, and that only codes of a line are in lines", () => {
    for (const [reason, { where }] of Object.entries(REASON_NOTES)) {
      expect(where.length, reason).toBeGreaterThan(0);
      const requestOnly = ["UNAUTHORIZED", "UNAVAILABLE", "NOT_FOUND"].includes(codeOf(reason as Reason));
      expect(where.includes("line") && requestOnly, reason).toBe(false);
    }
  });

  it("has texts that fit in a cell of a table", () => {
    for (const { cause, remedy } of Object.values(REASON_NOTES)) {
      for (const text of [cause, remedy]) expect(text).toMatch(/^[^|\n]+\.$/);
    }
  });
});
