import { describe, expect, it } from "vitest";
import { Progress } from "./progress.js";

describe("the progress of a command", () => {
  it("is shown a few times a second, and at the end, and never where there is no terminal", () => {
    const lines: string[] = [];
    const shown = new Progress((line) => lines.push(line));
    for (let done = 0; done <= 50; done++) shown.update(done, () => `${done} of 50`, done === 50);
    shown.end();
    expect(lines[0]).toContain("0 of 50");
    expect(lines.at(-2)).toContain("50 of 50");
    expect(lines.at(-1)).toBe("");
    expect(lines.length).toBeLessThan(20);
    new Progress(undefined).update(1, () => expect.fail("there is no terminal"), true);
  });
});
