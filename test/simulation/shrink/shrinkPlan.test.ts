import { describe, expect, it } from "vitest";
import { tell } from "../behaviours/story.js";
import { drawWorld } from "../outside/drawWorld.js";
import type { WorldPlan } from "../world.js";
import { shrinkPlan } from "./shrinkPlan.js";

/** A world with many behaviours. */
function busyWorld(): WorldPlan {
  const plan = Array.from({ length: 100 }, (_, i) => drawWorld(i)).find(
    ({ behaviours }) => behaviours.length >= 6,
  );
  if (plan === undefined) throw new Error("no seed has six behaviours");
  return plan;
}

describe("shrinking a world", () => {
  it("keeps the behaviour that breaks the law, and makes everything else small", async () => {
    const plan = busyWorld();
    const culprit = plan.behaviours[3];
    const breaks = async ({ behaviours }: WorldPlan) => behaviours.some(({ name }) => name === culprit?.name);
    const { behaviours, submissions, keys } = await shrinkPlan(plan, breaks);
    expect([behaviours.map(({ name }) => name), submissions, keys]).toEqual([[culprit?.name], 1, 1]);
  });

  it("leaves a world as it is where every smaller one keeps the law", async () => {
    const plan = busyWorld();
    const same = JSON.stringify(plan);
    expect(await shrinkPlan(plan, async (candidate) => JSON.stringify(candidate) === same)).toEqual(plan);
  });
});

describe("the story of a world", () => {
  it("has a sentence for each behaviour that can be drawn", () => {
    const behaviours = Array.from({ length: 500 }, (_, i) => drawWorld(i).behaviours).flat();
    expect(behaviours.map(tell).filter((sentence) => /: undefined|\[object|NaN/.test(sentence))).toEqual([]);
  });

  it("is the same for the same seed", () => {
    expect(drawWorld(7)).toEqual(drawWorld(7));
  });
});
