import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { createPoster } from "./httpPoster.js";
import { createSecretRemover } from "./urlSecrets.js";

const KEY = "0123456789abcdef0123456789abcdef";
const ADDRESS = `0x${"ab".repeat(20)}`;

describe("the secrets of a node's URL", () => {
  it.each([
    [`https://node.example/v3/${KEY}`, `Cannot POST /v3/${KEY}`, "Cannot POST [removed]"],
    [
      `https://node.example/v3/${KEY}`,
      `project ID ${KEY} is over its quota`,
      "project ID [removed] is over its quota",
    ],
    [`https://node.example/?apikey=${KEY}`, `the key ${KEY} is unknown`, "the key [removed] is unknown"],
    [`https://node.example/rpc?apikey=${KEY}`, `no route /rpc?apikey=${KEY}`, "no route [removed]"],
    [`https://operator:pass%2Fword-${KEY}@node.example/`, `not pass/word-${KEY}`, "not [removed]"],
    [`https://node.example/?refund=${ADDRESS}`, `{"from":"${ADDRESS}"}`, `{"from":"${ADDRESS}"}`],
    ["https://node.example/", '{"result":"0x1"}', '{"result":"0x1"}'],
    ["https://node.example/rpc", "the rpc method is unknown", "the rpc method is unknown"],
  ])("are removed: %s answers %s", (url, text, shown) => {
    expect(createSecretRemover(url)(text)).toBe(shown);
  });

  it("are in no answer of the node that the service reads", async () => {
    const node = createServer((request, response) =>
      response.writeHead(404).end(`Cannot POST ${request.url}`),
    );
    await new Promise<void>((resolve) => void node.listen(0, "127.0.0.1", resolve));
    const ended = new AbortController();
    try {
      const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}/v3/${KEY}`;
      const poster = createPoster(url, { rpcTimeoutMs: 5_000, signal: ended.signal });
      expect(await poster.post("{}")).toMatchObject({ status: 404, text: "Cannot POST [removed]" });
    } finally {
      ended.abort();
      await new Promise((resolve) => node.close(resolve));
    }
  });
});
