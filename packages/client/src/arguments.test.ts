import { describe, expect, it } from "vitest";
import { createWaiverClient } from "./createWaiverClient.js";
import { WaiverClientError } from "./errors.js";

const calls: Request[] = [];
const client = createWaiverClient({
  url: "http://127.0.0.1:1",
  fetch: async (input, init) => {
    calls.push(new Request(input, init));
    return new Response();
  },
});

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
}

const submit = async (transactions: unknown, idempotencyKey?: unknown) => {
  const options = idempotencyKey === undefined ? {} : { idempotencyKey: idempotencyKey as string };
  for await (const line of client.submit(transactions as string[], options)) return line;
  return undefined;
};

describe("an argument that cannot be used", () => {
  it.each([
    [
      "a missing url",
      () => createWaiverClient({ url: undefined as never }),
      "url is undefined; it must be the address",
    ],
    [
      "a url without a scheme",
      () => createWaiverClient({ url: "127.0.0.1" }),
      "url is 127.0.0.1; it must be",
    ],
    ["a text for a list", () => submit("0x12"), "transactions is not a list"],
    ["a text for a list to check", () => client.check("0x12" as never), "transactions is not a list"],
    [
      "an idempotency key with a space",
      () => submit(["0x12"], "order 17"),
      "visible ASCII characters: order 17",
    ],
    [
      "an idempotency key that is too long",
      () => submit(["0x12"], "a".repeat(256)),
      "1 to 255 visible ASCII",
    ],
  ])("is named before anything is sent: %s", async (_, call, message) => {
    const error = await errorOf(call);
    expect(error).toBeInstanceOf(WaiverClientError);
    expect(error).toMatchObject({ name: "InvalidArgumentError", message: expect.stringContaining(message) });
    expect(calls).toEqual([]);
  });
});
