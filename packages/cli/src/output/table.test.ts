import { describe, expect, it } from "vitest";
import { tableLines } from "./table.js";

const COLUMNS = [
  { title: "#", isNumber: true },
  { title: "transaction", shortens: true },
  { title: "answer" },
  { title: "why" },
];
const HASH = `0x${"ab".repeat(31)}cd`;
const ROWS = [
  ["1", HASH, { text: "taken", tone: "good" as const }, ""],
  ["12", HASH, { text: "refused", tone: "bad" as const }, "NONCE_GAP: nonce 7 is ahead of the sender's next"],
];

describe("a table", () => {
  it("has everything in whole lines, without colours, where there is no terminal", () => {
    expect(tableLines(COLUMNS, ROWS)).toEqual([
      ` #  transaction${" ".repeat(57)}answer   why`,
      ` 1  ${HASH}  taken`,
      `12  ${HASH}  refused  NONCE_GAP: nonce 7 is ahead of the sender's next`,
    ]);
  });

  it.each([50, 60, 80, 100, 200])("fits a terminal of %i columns", (columns) => {
    const lines = tableLines(COLUMNS, ROWS, { columns, hasColors: false });
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    expect(lines.map((line) => line.trim()).join(" ")).toContain("ahead of the sender's next");
  });

  it("shortens hashes in their middle and wraps the last column under itself", () => {
    const [title, first, second, ...rest] = tableLines(COLUMNS, ROWS, { columns: 51, hasColors: false });
    expect(title).toMatch(/^ # {2}transaction +answer +why$/);
    expect(first).toMatch(/^ 1 {2}0xab\w*…\w*abcd {2}taken$/);
    expect(second).toMatch(/^12 {2}0xab\w*…\w*abcd {2}refused {2}NONCE_GAP: nonce 7 is$/);
    const margin = " ".repeat(second?.indexOf("NONCE_GAP") ?? 0);
    expect(rest).toEqual([`${margin}ahead of the sender's`, `${margin}next`]);
  });

  it("colours cells on a terminal that has colours", () => {
    const [, taken, refused] = tableLines(COLUMNS, ROWS, { columns: 200, hasColors: true });
    expect(taken).toContain("\x1b[32mtaken\x1b[0m");
    expect(refused).toContain("\x1b[31mrefused\x1b[0m");
  });
});
