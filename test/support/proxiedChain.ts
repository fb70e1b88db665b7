import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import type { JsonRpcProvider } from "ethers";
import { afterAll, beforeAll } from "vitest";
import { NodeProxy } from "./nodeProxy.js";
import { connect } from "./user.js";

/** A chain for the tests of a file, a proxy in front of it for the service, and the test's own connection. */
export interface ProxiedChain {
  readonly devnet: Devnet;
  readonly proxy: NodeProxy;
  readonly chain: JsonRpcProvider;
}

/** Starts a chain with a proxy before the file's tests and ends both after them. The returned function gives them. */
export function proxiedChain(): () => ProxiedChain {
  let started: Partial<ProxiedChain> = {};
  beforeAll(async () => {
    // A block time of 0 makes a block for each transaction, so that no test waits for a clock.
    const devnet = await createDevnet({ blockTimeMs: 0 });
    started = { devnet };
    const { url } = await devnet.listen({ port: 0 });
    started = { devnet, proxy: await NodeProxy.inFrontOf(url), chain: connect(url) };
  });
  afterAll(async () => {
    started.chain?.destroy();
    await started.proxy?.close();
    await started.devnet?.close();
  });
  return () => {
    const { devnet, proxy, chain } = started;
    if (!devnet || !proxy || !chain) throw new Error("the chain has not been started");
    return { devnet, proxy, chain };
  };
}
