import { expect, it } from "vitest";
import { CloseStack } from "./closeStack.js";

it("closes in the reverse order, also past a failure, and tells of it", async () => {
  const closed: string[] = [];
  const resource = (name: string, failure?: Error) => ({
    async close() {
      closed.push(name);
      if (failure) throw failure;
    },
  });
  const owned = new CloseStack();
  owned.add(resource("first"));
  owned.add(resource("second", new Error("stuck")));
  owned.add(resource("third"));
  await expect(owned.close()).rejects.toThrow("stuck");
  expect(closed).toEqual(["third", "second", "first"]);
  await owned.close();
  expect(closed).toHaveLength(3);
});
