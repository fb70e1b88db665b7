import { expect, it } from "vitest";
import { Turns } from "./turns.js";

it("runs one piece of work after the other, also behind one that fails", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const work = (name: string) => async () => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    seen.push(`${name} ends`);
    if (name === "first") throw new Error("first fails");
    return name;
  };
  const first = turns.run(work("first"));
  const second = turns.run(work("second"));
  await turns.ended();
  expect(seen).toEqual(["first begins", "first ends", "second begins", "second ends"]);
  await expect(first).rejects.toThrow("first fails");
  expect(await second).toBe("second");
});
