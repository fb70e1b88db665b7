import { describe, expect, it } from "vitest";
import { ExactNumber, restoreExactIds } from "./exactIds.js";

const ID = "9007199254740993";
const idsIn = async (text: string) => {
  const message = await restoreExactIds(JSON.parse(text), Buffer.from(text));
  return [message].flat().map((request) => {
    const id: unknown = (request as { readonly id?: unknown } | null)?.id;
    return id instanceof ExactNumber ? id.text : id;
  });
};

describe("the ids of a message", () => {
  it.each([
    [`{"id":${ID}}`, [ID]],
    [`{ "\\u0069d" : -${ID} , "params":[{"id":1}]}`, [`-${ID}`]],
    [`{"params":[{"id":1e99},"id",":","\\"id\\":2"],"id":1.50}`, ["1.50"]],
    [`{"id":1,"id":${ID}}`, [ID]],
    [`{"id":${ID},"id":"a"}`, ["a"]],
    [
      `[{"id":${ID}},7,"id",["id",{"id":5}],null,{"id":"x"},{},{"id":1e999}]`,
      [...[ID, undefined, undefined, undefined, undefined], ...["x", undefined, "1e999"]],
    ],
  ])("in %s are those that the client wrote", async (text, ids) => {
    expect(await idsIn(text)).toEqual(ids);
  });

  it("are found in a message of any size, while the event loop turns", async () => {
    let turns = 0;
    const count = () => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const text = JSON.stringify('a\\"'.repeat(500_000));
    expect(await idsIn(`{"params":[${text}],"id":${ID}}`)).toEqual([ID]);
    clearImmediate(next);
    expect(turns).toBeGreaterThan(5);
  });
});
