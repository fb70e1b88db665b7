import { CLOSE_CODES } from "@gas-waiver/protocol";
import { CLOSE_NOTES, FRAMES, INTRODUCTION_TO_SOCKET } from "@gas-waiver/protocol/description";
import { page, table } from "./markdown.js";
import { schemaLink, schemaSections } from "./schemas.js";

/** docs/reference/websocket.md */
export function websocketPage(): string {
  return page(
    "packages/protocol/src/description",
    "WebSocket frames",
    INTRODUCTION_TO_SOCKET.join("\n\n"),
    "[The guide](../guides/websocket.md) shows how to use it and how to resume.",
    "## What a client sends",
    framesTable("client"),
    "## What the service sends",
    framesTable("service"),
    "## Close codes",
    closeCodesTable(),
    "## Frames",
    schemaSections(Object.values(FRAMES).map(({ schema }) => schema)),
  ).replaceAll(/\]\(#schema-(wait|error|lineerror)\)/g, "](http.md#schema-$1)");
}

function framesTable(side: "client" | "service"): string {
  const frames = Object.values(FRAMES).filter(({ from }) => from === side);
  return table(
    ["frame", "for"],
    frames.map(({ schema, title }) => [schemaLink(schema), title]),
  );
}

function closeCodesTable(): string {
  const rows = (Object.keys(CLOSE_CODES) as (keyof typeof CLOSE_CODES)[]).map((name) => [
    String(CLOSE_CODES[name]),
    CLOSE_NOTES[name].why,
    CLOSE_NOTES[name].remedy,
  ]);
  return table(["code", "why", "what to do"], rows);
}
