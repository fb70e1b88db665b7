import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planHandovers } from "./spread.js";

const replica = (id: string, ...waivers: string[]) => ({ id, waivers });
const lane = (waiver: string, owner?: string) => ({ waiver, owner });
const names = (count: number) => Array.from({ length: count }, (_, i) => `w${String(i).padStart(2, "0")}`);

/** The number of lanes of each replica after the plan is carried out. */
function countsAfter(
  replicas: readonly { id: string; waivers: readonly string[] }[],
  lanes: readonly { waiver: string; owner: string | undefined }[],
): number[] {
  const moved = new Map(planHandovers(replicas, lanes).map(({ waiver, to }) => [waiver, to]));
  return replicas.map(({ id }) => lanes.filter((one) => (moved.get(one.waiver) ?? one.owner) === id).length);
}

describe("the spread of lanes over replicas", () => {
  it("gives 4 replicas 5 each of 20 lanes that one has", () => {
    const replicas = ["a", "b", "c", "d"].map((id) => replica(id, ...names(20)));
    const lanes = names(20).map((waiver) => lane(waiver, "a"));
    expect(countsAfter(replicas, lanes)).toEqual([5, 5, 5, 5]);
  });

  it("moves nothing for a difference of one", () => {
    const replicas = ["a", "b"].map((id) => replica(id, ...names(3)));
    expect(planHandovers(replicas, [lane("w00", "a"), lane("w01", "a"), lane("w02", "b")])).toEqual([]);
  });

  it("leaves lanes whose key only one replica has where they are", () => {
    const replicas = [replica("a", ...names(4)), replica("b", "w03")];
    const lanes = names(4).map((waiver) => lane(waiver, "a"));
    expect(planHandovers(replicas, lanes)).toEqual([{ waiver: "w03", from: "a", to: "b" }]);
  });

  it("begins with the replicas that are furthest apart, so that few lanes move", () => {
    const replicas = ["a", "c", "b"].map((id) => replica(id, ...names(4)));
    const lanes = ["a", "a", "a", "b"].map((owner, i) => lane(`w0${i}`, owner));
    expect(planHandovers(replicas, lanes)).toEqual([{ waiver: "w00", from: "a", to: "c" }]);
  });

  it("hands nothing to or from a replica that is not alive", () => {
    const lanes = [lane("w00", "dead"), lane("w01", "dead"), lane("w02")];
    expect(planHandovers([replica("a", ...names(3))], lanes)).toEqual([]);
  });

  it("ends, is even where all replicas have all keys, and has nothing more to do afterwards", () => {
    const all = names(12);
    const situation = fc.array(fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }), {
      minLength: 12,
      maxLength: 12,
    });
    fc.assert(
      fc.property(situation, (owners) => {
        const replicas = ["a", "b", "c"].map((id) => replica(id, ...all));
        const lanes = all.map((waiver, i) => ({ waiver, owner: owners[i] }));
        const moved = new Map(planHandovers(replicas, lanes).map(({ waiver, to }) => [waiver, to]));
        const after = lanes.map(({ waiver, owner }) => ({ waiver, owner: moved.get(waiver) ?? owner }));
        expect(planHandovers(replicas, after)).toEqual([]);
        const counts = countsAfter(replicas, lanes);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
