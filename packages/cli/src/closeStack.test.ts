import { expect, it } from "vitest";
import { CloseStack } from "./closeStack.js";

it("closes in the reverse order, goes on after a failure, and throws it at the end", async () => {
  const closed: string[] = [];
  const resource = (name: string, failure?: Error) => ({
    async close() {
      closed.push(name);
      if (failure) throw failure;
    },
  });
  const closeStack = new CloseStack();
  closeStack.add(resource("first"));
  closeStack.add(resource("second", new Error("stuck")));
  closeStack.add(resource("third"));
  await expect(closeStack.close()).rejects.toThrow("stuck");
  expect(closed).toEqual(["third", "second", "first"]);
  await closeStack.close();
  expect(closed).toHaveLength(3);
});
