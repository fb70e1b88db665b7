import { CLOSE_CODES } from "@gas-waiver/protocol";
import { CLOSE_NOTES, FRAMES, INTRODUCTION_TO_SOCKET, schemaNameOf } from "@gas-waiver/protocol/description";
import { page, table } from "./markdown.js";
import { schemaLink, schemaSections } from "./schemas.js";

/** docs/reference/websocket.md */
export function websocketPage(): string {
  return page(
    "packages/protocol/src/wire",
    "WebSocket frames",
    INTRODUCTION_TO_SOCKET.join("\n\n"),
    "[The guide](../guides/websocket.md) shows how to use it and how to resume.",
    "## Frames of the client",
    framesTable("client"),
    "## Frames of the service",
    framesTable("service"),
    "## Close codes",
    closeCodesTable(),
    "## Frames",
    schemaSections(Object.values(FRAMES).map(({ schema }) => schemaNameOf(schema))),
  ).replaceAll(/\]\(#schema-(wait|error|lineerror)\)/g, "](http.md#schema-$1)");
}

function framesTable(side: "client" | "service"): string {
  const frames = Object.values(FRAMES).filter(({ from }) => from === side);
  return table(
    ["frame", "for"],
    frames.map(({ schema, title }) => [schemaLink(schemaNameOf(schema)), title]),
  );
}

function closeCodesTable(): string {
  const rows = (Object.keys(CLOSE_CODES) as (keyof typeof CLOSE_CODES)[]).map((name) => [
    String(CLOSE_CODES[name]),
    CLOSE_NOTES[name].cause,
    CLOSE_NOTES[name].remedy,
  ]);
  return table(["code", "cause", "remedy"], rows);
}
