import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { printable } from "./printable.js";
import { tableLines } from "./table.js";

it.each([
  ["a\u009b2Jb\u202ec", "a\\u009b2Jb\\u202ec"],
  ["\u001b]0;title\u0007\r\u001b[32m", "\\u001b]0;title\\u0007\\u000d\u001b[32m"],
  ["\u001b[8mhidden \u{e0041}", "\\u001b[8mhidden \\udb40\\udc41"],
  ["two\nlines\tä…🙂", "two\nlines\tä…🙂"],
])("of %j is %j", (text, shown) => {
  expect(printable(text)).toBe(shown);
});

it("keeps JSON and the colours of tables as they are", () => {
  const value = { message: "\u001b\u009b\u202e\u{e0041}" };
  expect(JSON.parse(printable(JSON.stringify(value)))).toEqual(value);
  const table = tableLines([{ title: "a" }], [[{ text: "b", tone: "bad" }]], {
    columns: 80,
    hasColors: true,
  });
  expect(table.map(printable)).toEqual(table);
});

it("holds for whatever a command prints", () => {
  const program = fileURLToPath(new URL("../../bin/gas-waiver.mjs", import.meta.url));
  const { stderr } = spawnSync(process.execPath, [program, "\u001b]0;title\u0007"], { encoding: "utf8" });
  expect(stderr).toContain("\\u001b]0;title\\u0007 is not a command");
});
