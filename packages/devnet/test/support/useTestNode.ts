import { afterEach, beforeEach } from "vitest";
import { createDevnet, type Devnet } from "../../src/createDevnet.js";
import type { DevnetOptions } from "../../src/options.js";
import { createTestNode, type TestNode } from "./testNode.js";

/**
 * Gives each test of a file or `describe` a fresh node, and closes it afterwards.
 * @returns the node of the running test. Do not destructure it: its members read the node of the moment.
 */
export function useTestNode(options: () => DevnetOptions = () => ({})): TestNode {
  let node: TestNode;
  beforeEach(async () => {
    node = await createTestNode(options());
  });
  afterEach(() => node.devnet.close());
  return {
    get devnet() {
      return node.devnet;
    },
    rpc: (method, ...params) => node.rpc(method, ...params),
    send: (raw) => node.send(raw),
    sendAndMine: (...raws) => node.sendAndMine(...raws),
    receipt: (hash) => node.receipt(hash),
    nonce: (index, tag) => node.nonce(index, tag),
    balance: (index) => node.balance(index),
    tokens: (index) => node.tokens(index),
  };
}

/** Gives each test a fresh devnet that makes blocks on demand and listens on a free port. */
export function useListeningDevnet(): { readonly devnet: Devnet; readonly url: string } {
  let devnet: Devnet;
  let url: string;
  beforeEach(async () => {
    devnet = await createDevnet({ blockTimeMs: 0 });
    ({ url } = await devnet.listen({ port: 0 }));
  });
  afterEach(() => devnet.close());
  return {
    get devnet() {
      return devnet;
    },
    get url() {
      return url;
    },
  };
}
