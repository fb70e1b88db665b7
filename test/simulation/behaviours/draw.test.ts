import { describe, expect, it } from "vitest";
import { Honesty } from "../laws/honesty.js";
import { drawBehaviours } from "./draw.js";
import { calmAfter, type Frame, HONEST_PARTS, namedSenders } from "./frame.js";

const FRAME: Frame = {
  ...{ replicas: 2, endpoints: 2, keys: 2, senders: 6, submissions: 4, reorgDepth: 1, busyMs: 8_000 },
  ...{ honest: "most senders", honestEndpoint: 1 },
};
const SEEDS = Array.from({ length: 400 }, (_, i) => i);
const drawn = (changes: Partial<Frame>) =>
  SEEDS.map((seed) => drawBehaviours(seed, { ...FRAME, ...changes }));

describe("drawn behaviours", () => {
  it.each(HONEST_PARTS)("have names of their own where %s is honest", (honest) => {
    for (const behaviours of drawn({ honest }))
      expect(new Set(behaviours.map(({ name }) => name)).size).toBe(behaviours.length);
  });

  it.each(HONEST_PARTS)("name at most half of the senders where %s is honest", (honest) => {
    const named = drawn({ honest })
      .flat()
      .flatMap(({ subject: { sender } }) => sender ?? []);
    expect([...new Set(named)].sort()).toEqual(namedSenders(FRAME));
  });

  it("leave one endpoint alone where one is honest, but for what costs nobody anything", () => {
    for (const behaviours of drawn({ honest: "an endpoint", replicas: 1 })) {
      const requests = behaviours.filter(({ subject }) => subject.endpoint !== undefined);
      expect(requests.filter(({ subject }) => subject.endpoint === 1)).toEqual([]);
      expect(new Honesty(requests, FRAME).isUndisturbed).toBe(true);
    }
  });

  it("are over in time where only the end is honest", () => {
    const ends = drawn({ honest: "the end" })
      .flat()
      .map(({ to }) => to);
    expect(ends.filter((to) => to === null || to > calmAfter(FRAME))).toEqual([]);
  });

  it("leave the draws of the others as they are where a world has one less", () => {
    const [first] = drawBehaviours(5, FRAME);
    expect(drawBehaviours(5, FRAME)[0]).toEqual(first);
  });
});
